-- The usual step: one put.
reply[2 * windows + 1] = put(ARGV[at], ARGV[at + 1], ARGV[at + 2])
return reply
