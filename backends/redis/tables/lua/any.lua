-- Any operations in order, each as a letter, the number of its arguments, and these. ARGV[at] is a mode: 0; 1
-- also returns tables with expired entries; 2 judges the storage limit as it is.
-- Reply after those of the charges: results, tables of the home with expired entries. Fewer results than
-- operations: expired entries leave no room. The caller removes some, and continues.
local operations = {A = add, D = delete, G = get, L = list, P = put, T = touch}
local results, mode, expired = {}, ARGV[at], {}
at = at + 1
if mode == '1' then
    expired = call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, 10)
end
while at <= #ARGV do
    local ends = at + 1 + ARGV[at + 1]
    local result = operations[ARGV[at]](unpack(ARGV, at + 2, ends))
    if result == 'F' and mode ~= '2' then
        expired = call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, 10)
        if #expired > 0 then
            break
        end
    end
    results[#results + 1] = result
    at = ends + 1
end
reply[2 * windows + 1], reply[2 * windows + 2] = results, expired
return reply
