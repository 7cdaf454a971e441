-- Returns nil if a condition holds, else the result. A condition is empty for none, `*` or `-` for an entry
-- or none, `=` and a revision.
local function unmet(condition, stored)
    if condition == '' then
        return nil
    end
    local revision = is_live(stored) and string.sub(stored, 10, 31)
    if condition == '*' and revision or condition == '-' and not revision then
        return nil
    elseif revision and '=' .. revision == condition then
        return nil
    end
    return 'U' .. (revision or '')
end
