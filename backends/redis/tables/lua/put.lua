local function put(key, condition, new)
    local stored = call('HGET', entries, key)
    return unmet(condition, stored) or write(key, stored, new) or 'W'
end
