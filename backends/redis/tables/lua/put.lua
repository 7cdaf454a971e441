function operations.P(key, condition, new)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    return write(key, stored, new) or 'W'
end
