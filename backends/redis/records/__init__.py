"""`RecordStore` on Redis: a hash of records, a sorted set of their names, a stream of changes, in one slot.

store       read and swap
name_index  pages in the order of names
feed        the names of changed records
"""
