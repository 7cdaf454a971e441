-- A foreign value may be shorter than a front; the caller reports it as corrupt.
local function expiry_of(stored)
    return #stored >= 31 and struct.unpack('>I8', stored, 2) or 0
end

local function is_live(stored)
    local expires_at_ms = stored and expiry_of(stored)
    return stored and (expires_at_ms == 0 or expires_at_ms > now_ms)
end
