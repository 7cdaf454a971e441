-- Adds to the bytes of the table and of its home; returns false, and adds nothing, if the storage limit does
-- not admit it. In place of an expired entry any entry is growth.
local function grow(bytes, is_expired)
    local both = call('HMGET', sizes, '', table_id)
    local of_home, limit = (both[1] or 0) + bytes, tonumber(max_bytes)
    if (bytes > 0 or is_expired) and limit >= 0 and of_home > limit then
        return false
    end
    call('HSET', sizes, '', of_home, table_id, (both[2] or 0) + bytes)
    return true
end

-- Replaces an entry; returns nil, or the reason why not.
local function write(key, stored, new)
    if is_full then
        return 'O'
    end
    local grows_by = #new - (stored and #stored or 31 - #key)
    local before = stored and expiry_of(stored) or 0
    local is_expired = before > 0 and before <= now_ms
    if (grows_by ~= 0 or is_expired) and not grow(grows_by, is_expired) then
        return 'F'
    end
    call('HSET', entries, key, new)
    if not stored then
        call('ZADD', index, 0, key)
    end
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
