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

function operations.A(key, by, front)
    local live, stored = look(key)
    local before = live and integer_of(string.sub(live, 32)) or (not live and 0)
    local after = before and before + tonumber(by)
    if not after or math.abs(after) > 9007199254740991 then
        return 'I'
    end
    if live then
        front = string.sub(front, 1, 1) .. string.sub(live, 2, 9) .. string.sub(front, 10)
    end
    local new = front .. string.format('%.0f', after + 0)
    return write(key, stored, new) or 'S' .. new
end
