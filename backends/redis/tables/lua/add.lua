-- Lua 5.1 counts in doubles, which hold integers up to 2^53 exactly; a sum of two may be rounded, but only
-- beyond the range that is admitted.
local function integer_of(text)
    local digits = string.match(text, '^[ \t\r\n]*(-?%d+)[ \t\r\n]*$')
    if not digits or #digits > 17 or string.match(digits, '^-?0%d') then
        return nil
    end
    local integer = tonumber(digits)
    return math.abs(integer) <= 9007199254740991 and integer or nil
end

local function add(key, by, front)
    local stored = call('HGET', entries, key)
    local before = 0
    if is_live(stored) then
        before = integer_of(string.sub(stored, 32))
        front = string.sub(front, 1, 1) .. string.sub(stored, 2, 9) .. string.sub(front, 10)
    end
    local after = before and before + tonumber(by)
    if not after or math.abs(after) > 9007199254740991 then
        return 'I'
    end
    local new = front .. string.format('%.0f', after + 0)
    return write(key, stored, new) or 'S' .. new
end
