-- Replaces an entry; returns nil, or the letter of the reason why not.
local function write(key, stored, new)
    if is_full then
        return 'O'
    end
    local grows_by = #new - (stored and #stored or 31 - #key)
    if grows_by ~= 0 then
        local max_bytes, of_home, of_table = tonumber(ARGV[1]), sizes_now()
        if grows_by > 0 and max_bytes >= 0 and of_home + grows_by > max_bytes then
            return 'F'
        end
        grow(grows_by, of_home, of_table)
    end
    call('HSET', entries, key, new)
    if not stored then
        call('ZADD', index, 0, key)
    end
    local before = stored and expiry_of(stored) or 0
    local after = expiry_of(new)
    if after > 0 and after ~= before then
        call('ZADD', expiries, after, key)
        if before == 0 or after < before then
            call('ZADD', due, 'LT', after, table_id)
        end
    elseif after == 0 and before > 0 then
        call('ZREM', expiries, key)
    end
    return nil
end
