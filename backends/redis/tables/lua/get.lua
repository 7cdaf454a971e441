local function get(key)
    local stored = call('HGET', entries, key)
    return is_live(stored) and stored or ''
end
