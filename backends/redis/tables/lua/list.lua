-- A page looks at no more keys than the limit and one, and at no more bytes than `most_read`, so that it
-- holds Redis for a bounded time even if all entries have expired, or their values are not shown.
local most_read, read_at_once = 2097152, 32

local function list(prefix, after, limit, has_values, page_bytes)
    local from = (after ~= '' and after >= prefix) and '(' .. after or '[' .. prefix
    limit, page_bytes = tonumber(limit), tonumber(page_bytes)
    local keys = call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, limit + 1)
    local page, shown_to, bytes, read = {''}, 1, 0, 0
    for first = 1, #keys, read_at_once do
        local stored = call('HMGET', entries, unpack(keys, first, math.min(first + read_at_once - 1, #keys)))
        for number = 1, #stored do
            local place, entry = first + number - 1, stored[number] or ''
            if place > limit or bytes >= page_bytes or read >= most_read then
                page[1] = keys[place - 1]
                return page
            end
            read = read + #entry
            if is_live(entry) then
                local shown = has_values == '1' and entry or string.sub(entry, 1, 31)
                page[shown_to + 1], page[shown_to + 2] = keys[place], shown
                shown_to = shown_to + 2
                bytes = bytes + #keys[place] + #shown - 31
            end
        end
    end
    return page
end
