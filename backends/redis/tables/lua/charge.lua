-- The beginning of every step of a table: charges of all budgets, or of none (layout 2).
--
-- KEYS  the windows of the budgets in order (none if nobody is charged); then, all in one slot:
--       entries  hash: key -> front and value. The front is a version byte (2), the expiry in ms (8 bytes,
--                0 for none) and the revision (22 letters).
--       index    sorted set of the keys, all with score 0: in the order of their bytes
--       expiries sorted set of the keys that expire, by expiry
--       due      sorted set of the home: its tables, by a lower bound of their first expiry
--       sizes    hash of the home: bytes of each table, and of all tables under ''
-- ARGV  storage limit in bytes (-1: none), table, window in ms, the limit of each budget; amount, now in ms,
--       mode (0; 1: also return tables with expired entries; 2: the storage limit is final); then each
--       operation as a letter, the number of its arguments, and these.
-- Reply one string, or, where that cannot hold it, an array of head, results, and tables with expired
--       entries. Nested replies cost Redis about 1 us each. The head is a status (0 refused, 1 done), the
--       number of results (refused: of the budget), and for each budget the ms to the end of its window and
--       the remaining charges.
--
-- Redis collects none of the table's keys by itself, so that index, expiries and sizes always agree with the
-- entries.

local call, pack = redis.call, struct.pack
local windows = #KEYS - 5
local entries, index, expiries = KEYS[windows + 1], KEYS[windows + 2], KEYS[windows + 3]
local due, sizes = KEYS[windows + 4], KEYS[windows + 5]
local table_id, amount, now_ms = ARGV[2], ARGV[4 + windows], tonumber(ARGV[5 + windows])
local mode, at = ARGV[6 + windows], 7 + windows

-- A script may continue at maxmemory after a write that needs no memory. GETEX is such a write, so charges
-- never stop; `is_full` then refuses the writes that need memory.
local is_full = false

local function charge(window)
    local charges = redis.pcall('INCRBY', window, amount)
    if type(charges) ~= 'table' then
        return charges
    end
    if string.find(charges.err, 'OOM', 1, true) then
        is_full = true
        call('GETEX', window)
    end
    return call('INCRBY', window, amount)
end

-- A window is never left without an end, nor open without a charge.
local function refund(window)
    if call('DECRBY', window, amount) <= 0 then
        call('UNLINK', window)
    end
end

local counted = ''
for number = 1, windows do
    local window, limit = KEYS[number], tonumber(ARGV[3 + number])
    local charges = charge(window)
    -- Redis keeps a key through the whole millisecond in which it expires, hence + 1 and - 1.
    local closes_in_ms = call('PTTL', window) + 1
    if closes_in_ms < 1 then
        closes_in_ms = tonumber(ARGV[3])
        call('PEXPIRE', window, closes_in_ms - 1)
    end
    if charges > limit then
        for each = 1, number do
            refund(KEYS[each])
        end
        return pack('>BBI8I8', 0, number, closes_in_ms, math.max(limit - charges + amount, 0))
    end
    counted = counted .. pack('>I8I8', closes_in_ms, limit - charges)
end

local operations = {}
