"""The embedded store: everything in this process, bounded, gone when it ends.

settings  what `kind: memory` can be set to
entries   `EntryStore`, and the calendar by which expired entries are found
backend   `Backend`, with `WindowCounter` and `RecordStore`
"""
