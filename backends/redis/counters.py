"""Window counters in Redis: a number whose time to live is the window's."""

from backends.errors import BackendUnavailable
from backends.interface import Charge
from backends.redis.keys import Keys
from backends.redis.replies import NOT_REDIS
from backends.redis.scripts import Script
from backends.redis.topology import Topology

_CHARGE = Script("""
local charges = tonumber(redis.call('GETEX', KEYS[1]) or 0)
local closes_in_ms = redis.call('PTTL', KEYS[1]) + 1
local admitted = 0
if not charges or charges < tonumber(ARGV[1]) then
    redis.call('INCR', KEYS[1])
    admitted = 1
end
if closes_in_ms < 1 then
    closes_in_ms = tonumber(ARGV[2])
    redis.call('PEXPIRE', KEYS[1], closes_in_ms - 1)
end
return {admitted, closes_in_ms}
""")
"""Counts and tells how long the window stays open. A counter without a time to live is new, or has
lost it (PERSIST, a restored dump) and gets a window of full length. Redis keeps a key through the whole
millisecond in which its time is up, hence the one more and the one less. To Redis GETEX is a write that needs
no memory; after one, a script may go on at `maxmemory`: so a full store still serves reads and deletes."""


class RedisWindowCounter:
    """A `WindowCounter` on Redis' own clock."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Charge:
        name = self._keys.window(bucket)
        reply = await _CHARGE.call(self._topology, name, limit, window_ms)
        try:
            admitted, closes_in_ms = reply
            return Charge(admitted == 1, max(closes_in_ms, 1))
        except (TypeError, ValueError):
            raise BackendUnavailable(NOT_REDIS) from None
