-- KEYS as in sweep.lua    ARGV  table, now in ms
-- Reply the number of live entries, bytes of all entries, the number of expired entries
local expired = redis.call('ZCOUNT', KEYS[3], '-inf', ARGV[2])
local bytes = tonumber(redis.call('HGET', KEYS[5], ARGV[1]) or 0)
return {redis.call('HLEN', KEYS[1]) - expired, bytes, expired}
