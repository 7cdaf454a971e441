-- The usual step: one get.
local stored = call('HGET', KEYS[windows + 1], ARGV[at])
reply[2 * windows + 1] = is_live(stored) and stored or ''
return reply
