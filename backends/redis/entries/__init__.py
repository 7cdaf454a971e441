"""`EntryStore` on Redis.

store    put, get and delete: one string per entry
purging  SCAN through all masters for the entries of deleted tables
"""
