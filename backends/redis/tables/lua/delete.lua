local function delete(key, condition)
    local stored = call('HGET', entries, key)
    local reason = unmet(condition, stored)
    if stored and not reason then
        call('HDEL', entries, key)
        call('ZREM', index, key)
        if expiry_of(stored) > 0 then
            call('ZREM', expiries, key)
        end
        grow(31 - #key - #stored)
    end
    return reason or 'R'
end
