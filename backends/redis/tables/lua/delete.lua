function operations.D(key, condition)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    if stored then
        call('HDEL', entries, key)
        call('ZREM', index, key)
        if expiry_of(stored) > 0 then
            call('ZREM', expiries, key)
        end
        grow(31 - #key - #stored, sizes_now())
    end
    return 'R'
end
