-- Before a step of a table that version 0.2 may have created: its entries must be in layout 2.
local mark = redis.call('HGET', KEYS[#KEYS], 'l:' .. ARGV[#KEYS - table_keys + 3])
if mark ~= 'moved' and mark ~= 'new' then
    return mark and '\2' or '\3'
end
