-- One step of a table: charges, then operations, as one atomic step (layout 2).
--
-- KEYS  the windows of the budgets in order (none, if nobody is charged); then, all in one slot:
--       entries  hash: key -> front and value. The front is a version byte (2), the expiry in ms (8 bytes,
--                0 for none) and the revision (22 letters).
--       index    sorted set of the keys, all with score 0: in the order of their bytes
--       expiries sorted set of the home: table, NUL, key by expiry
--       sizes    hash of the home: bytes of each table, and of all tables under ''
-- ARGV  amount, window in ms, now in ms, storage limit in bytes (-1: none), table, whether the storage limit
--       is final; the limit of each budget; then each operation as a letter and its arguments.
-- Reply {0, number of the refusing budget, ms to its end, remaining}, or
--       {1, {ms to the end, remaining, ...}, {result, ...}, {table with expired entries, ...}}
--
-- Redis collects none of these keys by itself, so that index and sizes always agree with the entries.

local FRONT = 31
local budgets = #KEYS - 4
local entries, index, expiries, sizes = KEYS[budgets + 1], KEYS[budgets + 2], KEYS[budgets + 3], KEYS[budgets + 4]
local amount, window_ms, now_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local max_bytes, table_id, is_final = tonumber(ARGV[4]), ARGV[5], ARGV[6] == '1'
local at = 7 + budgets

-- A script may continue at maxmemory after a write that needs no memory, and every charge is one. So ask
-- before the first charge whether Redis would take a write that needs memory; this one changes nothing.
local probe = redis.pcall('SETRANGE', KEYS[1], 0, '')
local is_full = type(probe) == 'table' and probe.err and string.find(probe.err, 'OOM', 1, true)

local counted, closing = {}, {}
for number = 1, budgets do
    -- GETEX, because Redis classifies it as a write that needs no memory.
    local charges = tonumber(redis.call('GETEX', KEYS[number]) or 0)
    local closes_in_ms = redis.call('PTTL', KEYS[number]) + 1
    local limit = tonumber(ARGV[6 + number])
    if charges and charges + amount > limit then
        if closes_in_ms < 1 then
            closes_in_ms = window_ms
            redis.call('PEXPIRE', KEYS[number], window_ms - 1)
        end
        return {0, number, closes_in_ms, math.max(limit - charges, 0)}
    end
    closing[number] = closes_in_ms
end
for number = 1, budgets do
    local charges = redis.call('INCRBY', KEYS[number], amount)
    if closing[number] < 1 then
        closing[number] = window_ms
        redis.call('PEXPIRE', KEYS[number], window_ms - 1)
    end
    counted[#counted + 1] = closing[number]
    counted[#counted + 1] = ARGV[6 + number] - charges
end

local function count(bytes)
    if bytes ~= 0 then
        redis.call('HINCRBY', sizes, table_id, bytes)
        redis.call('HINCRBY', sizes, '', bytes)
    end
end

local function expiry_of(stored)
    return (struct.unpack('>I8', stored, 2))
end

local function remove(key, stored)
    redis.call('HDEL', entries, key)
    redis.call('ZREM', index, key)
    if expiry_of(stored) > 0 then
        redis.call('ZREM', expiries, table_id .. '\0' .. key)
    end
    count(FRONT - #key - #stored)
end

local has_more = {}
local function sweep(most)
    local due = redis.call('ZRANGEBYSCORE', expiries, '-inf', now_ms, 'LIMIT', 0, most)
    for _, member in ipairs(due) do
        local ends = string.find(member, '\0', 1, true)
        local owner = string.sub(member, 1, ends - 1)
        if owner ~= table_id or #due == most then
            has_more[owner] = true
        end
        if owner == table_id then
            local key = string.sub(member, ends + 1)
            local stored = redis.call('HGET', entries, key)
            if stored then
                remove(key, stored)
            else
                redis.call('ZREM', expiries, member)
            end
        end
    end
    return #due
end

-- Returns what is stored under the key if it is live, and what is stored at all.
local function look(key)
    local stored = redis.call('HGET', entries, key)
    if not stored then
        return nil, nil
    end
    local expires_at_ms = expiry_of(stored)
    if expires_at_ms > 0 and expires_at_ms <= now_ms then
        return nil, stored
    end
    return stored, stored
end

local function holds(condition, live)
    if condition == '' then
        return true
    elseif condition == '*' then
        return live ~= nil
    elseif condition == '-' then
        return live == nil
    end
    return live ~= nil and string.sub(live, 10, FRONT) == string.sub(condition, 2)
end

local function unmet(live)
    return {'U', live and string.sub(live, 10, FRONT) or ''}
end

-- Replaces an entry; returns nil, or the letter of the reason why not.
local function store(key, live, stored, new)
    if is_full then
        return 'O'
    end
    local grows_by = #new - FRONT + #key
    if stored then
        grows_by = grows_by - (#stored - FRONT + #key)
    end
    local used = max_bytes >= 0 and grows_by > 0 and tonumber(redis.call('HGET', sizes, '') or 0)
    if used and used + grows_by > max_bytes then
        return 'F'
    end
    redis.call('HSET', entries, key, new)
    local expires_at_ms = expiry_of(new)
    if not stored then
        redis.call('ZADD', index, 0, key)
    end
    if expires_at_ms > 0 then
        redis.call('ZADD', expiries, expires_at_ms, table_id .. '\0' .. key)
    elseif stored and expiry_of(stored) > 0 then
        redis.call('ZREM', expiries, table_id .. '\0' .. key)
    end
    count(grows_by)
    return nil
end

local operations = {}

function operations.G(key)
    local live = look(key)
    return live and {'E', live} or {'N'}
end

function operations.P(key, condition, new)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    local reason = store(key, live, stored, new)
    return {reason or 'W'}
end

function operations.D(key, condition)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    if stored then
        remove(key, stored)
    end
    return {'R'}
end

function operations.T(key, condition, front)
    local live, stored = look(key)
    if not holds(condition, live) then
        return unmet(live)
    end
    if not live then
        return {'N'}
    end
    local reason = store(key, live, stored, front .. string.sub(live, FRONT + 1))
    return {reason or 'W'}
end

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
    local before = live and integer_of(string.sub(live, FRONT + 1)) or (not live and 0)
    local after = before and before + tonumber(by)
    if not after or math.abs(after) > 9007199254740991 then
        return {'I'}
    end
    if live then
        front = string.sub(front, 1, 1) .. string.sub(live, 2, 9) .. string.sub(front, 10)
    end
    local new = front .. string.format('%.0f', after + 0)
    local reason = store(key, live, stored, new)
    return reason and {reason} or {'S', new}
end

-- Looks at `limit` keys and one more at most, so that a page holds Redis for a bounded time even if all
-- entries have expired.
function operations.L(prefix, after, limit, has_values, page_bytes)
    local from = after ~= '' and '(' .. after or '[' .. prefix
    if after ~= '' and after < prefix then
        from = '[' .. prefix
    end
    local keys = redis.call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, limit + 1)
    local page, bytes, last = {}, 0, nil
    for number, key in ipairs(keys) do
        if number > tonumber(limit) or bytes >= tonumber(page_bytes) then
            return {'P', page, last}
        end
        local live = look(key)
        if live then
            local shown = has_values == '1' and live or string.sub(live, 1, FRONT)
            page[#page + 1] = key
            page[#page + 1] = shown
            bytes = bytes + #key + #shown - FRONT
        end
        last = key
    end
    return {'P', page, false}
end

local arguments_of = {G = 1, P = 3, D = 2, T = 3, A = 3, L = 5}

sweep(4)
local results = {}
while at <= #ARGV do
    local letter = ARGV[at]
    local ends = at + arguments_of[letter]
    local result = operations[letter](unpack(ARGV, at + 1, ends))
    if result[1] == 'F' and not is_final and sweep(1) > 0 then
        break  -- what expired may make room: the caller sweeps, and continues here
    end
    results[#results + 1] = result
    at = ends + 1
end
local tables = {}
for owner in pairs(has_more) do
    tables[#tables + 1] = owner
end
return {1, counted, results, tables}
