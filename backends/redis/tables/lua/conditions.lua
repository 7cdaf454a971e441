-- A condition is empty for none, `*` or `-` for an entry or none, `=` and a revision.
local function holds(condition, live)
    if condition == '' then
        return true
    elseif condition == '*' then
        return live ~= nil
    elseif condition == '-' then
        return live == nil
    end
    return live ~= nil and string.sub(live, 10, 31) == string.sub(condition, 2)
end

local function unmet(live)
    return 'U' .. (live and string.sub(live, 10, 31) or '')
end
