-- A foreign value may be shorter than a front; the caller reports it as corrupt.
local function expiry_of(stored)
    return #stored >= 31 and struct.unpack('>I8', stored, 2) or 0
end

-- Returns the stored entry if it is live, and the stored entry in any case.
local function look(key)
    local stored = call('HGET', entries, key)
    if not stored then
        return nil, nil
    end
    local expires_at_ms = expiry_of(stored)
    if expires_at_ms > 0 and expires_at_ms <= now_ms then
        return nil, stored
    end
    return stored, stored
end
