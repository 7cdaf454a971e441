-- Removes expired entries of one table.
-- KEYS  entries, index, expiries, due, sizes (charge.lua)    ARGV  table, now in ms, most entries to remove
-- Reply the number of removed entries
local call = redis.call
local entries, index, expiries, due, sizes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local expired = call('ZRANGEBYSCORE', expiries, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
if #expired > 0 then
    local bytes = 0
    for _, key in ipairs(expired) do
        local stored_bytes = call('HSTRLEN', entries, key)
        if stored_bytes > 0 then
            bytes = bytes + 31 - #key - stored_bytes
        end
    end
    call('HDEL', entries, unpack(expired))
    call('ZREM', index, unpack(expired))
    call('ZREMRANGEBYRANK', expiries, 0, #expired - 1)
    call('HINCRBY', sizes, '', bytes)
    call('HINCRBY', sizes, ARGV[1], bytes)
end
local following = call('ZRANGE', expiries, 0, 0, 'WITHSCORES')
if following[2] then
    redis.pcall('ZADD', due, following[2], ARGV[1])  -- at maxmemory the lower bound stays as it is
else
    call('ZREM', due, ARGV[1])
end
return #expired
