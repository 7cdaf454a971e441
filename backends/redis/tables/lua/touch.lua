function operations.T(key, condition, front)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    if not live then
        return 'N'
    end
    return write(key, stored, front .. string.sub(live, 32)) or 'W'
end
