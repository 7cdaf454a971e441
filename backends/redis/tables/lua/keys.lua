-- The keys of a table, all in one slot:
--   entries  hash: key -> front and value. The front is a version byte (2), the expiry in ms (8 bytes, 0 for
--            none) and the revision (22 letters).
--   index    sorted set of the keys, all with score 0: in the order of their bytes
--   expiries sorted set of the keys that expire, by expiry
--   due      sorted set of the home: its tables, by a lower bound of their first expiry
--   sizes    hash of the home: bytes of each table, and of all tables under ''
-- Redis collects none of them by itself, so that index, expiries and sizes always agree with the entries.
local entries, index, expiries = KEYS[windows + 1], KEYS[windows + 2], KEYS[windows + 3]
local due, sizes = KEYS[windows + 4], KEYS[windows + 5]
local max_bytes, table_id = ARGV[windows + 2], ARGV[windows + 3]
