"""Upgrades of tables of version 0.2 under load."""
