"""Gives back the space of deleted tables in the background, on one replica at a time.

reclaimer  purges deleted tables in runs through the whole store
intents    the state of each deletion, and the tables whose purge is due
lease      elects the replica that reclaims
"""
