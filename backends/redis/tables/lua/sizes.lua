-- Adds to the bytes of the table and of its home.
local function grow(bytes, of_home, of_table)
    call('HSET', sizes, '', of_home + bytes, table_id, of_table + bytes)
end

local function sizes_now()
    local both = call('HMGET', sizes, '', table_id)
    return tonumber(both[1] or 0), tonumber(both[2] or 0)
end
