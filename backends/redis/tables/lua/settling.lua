-- Settles keys of a table that is being moved to layout 2: each key once.
-- KEYS  settled keys; then as in sweep.lua
-- ARGV  -1 (no storage limit), table, now in ms; then each key and its entry ('' for none)
-- Reply for each key 2 if it is settled now, 1 if it was before, 0 if it was not and the move has ended;
--       or 'new' if that is no longer known.
local call = redis.call
local settled, entries, index, expiries, due, sizes = unpack(KEYS)
local max_bytes, table_id, now_ms, is_full = ARGV[1], ARGV[2], tonumber(ARGV[3]), false
