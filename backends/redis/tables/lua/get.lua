function operations.G(key)
    local live = look(key)
    return live and 'E' .. live or 'N'
end
