-- The end of every step: the operations in order, and the reply.
local results, expired = {}, {}
if mode == '1' then
    expired = call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, 10)
end
while at <= #ARGV do
    local ends = at + 1 + ARGV[at + 1]
    local result = operations[ARGV[at]](unpack(ARGV, at + 2, ends))
    if result == 'F' and mode ~= '2' then
        expired = call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, 10)
        if #expired > 0 then
            break  -- the caller removes expired entries, and continues here
        end
    end
    results[#results + 1] = result
    at = ends + 1
end
local head = pack('>BB', 1, #results) .. counted
if #results == 1 and #expired == 0 and type(results[1]) == 'string' then
    return head .. results[1]
end
return {head, results, expired}
