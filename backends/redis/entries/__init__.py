"""Walks through all keys of all masters, for entries of layout 1.

walk     small steps that any replica may continue
purging  SCAN through all masters for the entries of deleted tables
"""
