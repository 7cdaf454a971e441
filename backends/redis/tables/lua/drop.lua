-- KEYS as in sweep.lua    ARGV  table
-- Redis frees what was unlinked in a thread of its own. To Lua the negative of 0 is -0, which is no integer.
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
local bytes = tonumber(redis.call('HGET', KEYS[5], ARGV[1]) or 0)
redis.call('HDEL', KEYS[5], ARGV[1])
if redis.call('HINCRBY', KEYS[5], '', 0 - bytes) == 0 then
    redis.call('HDEL', KEYS[5], '')
end
return bytes
