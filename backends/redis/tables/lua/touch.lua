local function touch(key, condition, front)
    local stored = call('HGET', entries, key)
    local reason = unmet(condition, stored)
    if reason or not is_live(stored) then
        return reason or 'N'
    end
    return write(key, stored, front .. string.sub(stored, 32)) or 'W'
end
