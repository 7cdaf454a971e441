-- A page looks at no more keys than the limit and one, and at no more bytes than `most_read`, so that it
-- holds Redis for a bounded time even if all entries have expired, or their values are not shown.
local most_read, read_at_once = 2097152, 32

function operations.L(prefix, after, limit, has_values, page_bytes)
    local from = (after ~= '' and after >= prefix) and '(' .. after or '[' .. prefix
    limit, page_bytes = tonumber(limit), tonumber(page_bytes)
    local keys = call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, limit + 1)
    local page, bytes, read, last = {'P'}, 0, 0, ''
    for first = 1, #keys, read_at_once do
        local stored = call('HMGET', entries, unpack(keys, first, math.min(first + read_at_once - 1, #keys)))
        for number = 1, #stored do
            local key, entry = keys[first + number - 1], stored[number]
            if first + number - 1 > limit or bytes >= page_bytes or read >= most_read then
                page[1] = 'P' .. last
                return page
            end
            local expires_at_ms = expiry_of(entry)
            read = read + #entry
            if expires_at_ms == 0 or expires_at_ms > now_ms then
                local shown = has_values == '1' and entry or string.sub(entry, 1, 31)
                page[#page + 1] = key
                page[#page + 1] = shown
                bytes = bytes + #key + #shown - 31
            end
            last = key
        end
    end
    return page
end
