local mark = call('HGET', sizes, 'l:' .. table_id)
if mark == 'new' then
    return mark
elseif mark ~= 'moved' and mark ~= 'moving' then
    -- A frozen string proves that a move began. A failover has lost the mark.
    call('HSET', sizes, 'l:' .. table_id, 'moving')
end
local states = {}
for at = 4, #ARGV, 2 do
    local key, new, state = ARGV[at], ARGV[at + 1], 1
    if not call('HGET', settled, key) then
        state = 0
        if mark ~= 'moved' then
            state = 2
            call('HSET', settled, key, '')
            if new ~= '' and not call('HGET', entries, key) then
                write(key, nil, new)
            end
        end
    end
    states[#states + 1] = state
end
return states
