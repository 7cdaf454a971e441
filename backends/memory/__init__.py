"""The embedded store: all data in this process, bounded, lost when it ends.

settings  the settings of `kind: memory`
entries   `EntryStore`, and the expiry index that finds expired entries
backend   `Backend`, with `WindowCounter` and `RecordStore`
"""
