"""The embedded store: all data in this process, bounded, lost when it ends.

tables   `TableStore` and `ChargedStore`, with the index that finds expired entries
backend  `Backend` and its settings, `WindowCounter`, `RecordStore`
"""
