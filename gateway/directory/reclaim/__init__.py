"""Gives back the space of deleted tables and expired entries, in the background, on one replica at a time.

reclaimer  drops deleted tables
intents    the state of each deletion, and the tables whose purge is due
sweeper    removes expired entries, and counts live ones
lease      elects the replica that does one of these
"""
