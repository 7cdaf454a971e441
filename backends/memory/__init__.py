"""The embedded store: all data in this process, bounded, lost when it ends.

entries  `EntryStore`, and the expiry index that finds expired entries
backend  `Backend` and its settings, `WindowCounter`, `RecordStore`
"""
