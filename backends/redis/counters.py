"""Window counters in Redis: a number whose time to live is that of its window."""

from collections.abc import Coroutine
from typing import Any

from backends.errors import BackendUnavailable
from backends.interface import Charge
from backends.redis.topology.interface import Script, Topology
from backends.redis.wire.commands import Keys
from backends.redis.wire.replies import NOT_REDIS, check_done
from backends.redis.wire.resp import Reply


def _charge_of(reply: Reply) -> Charge:
    match reply:
        case [0 | 1 as admitted, int(closes_in_ms), int(remaining)]:
            return Charge(admitted == 1, max(closes_in_ms, 1), remaining)
    raise BackendUnavailable(NOT_REDIS)


_CHARGE = Script(
    """
local charges = tonumber(redis.call('GETEX', KEYS[1]) or 0)
local closes_in_ms = redis.call('PTTL', KEYS[1]) + 1
local admitted, remaining = 0, 0
if not charges or charges + ARGV[3] <= tonumber(ARGV[1]) then
    admitted, remaining = 1, ARGV[1] - redis.call('INCRBY', KEYS[1], ARGV[3])
elseif charges < tonumber(ARGV[1]) then
    remaining = ARGV[1] - charges
end
if closes_in_ms < 1 then
    closes_in_ms = tonumber(ARGV[2])
    redis.call('PEXPIRE', KEYS[1], closes_in_ms - 1)
end
return {admitted, closes_in_ms, remaining}
""",
    arguments=3,
    result_of=_charge_of,
)
"""Charges a window; returns whether it admits the charge, how long it stays open and what it still admits
(D93).

Redis runs a script as one step, so no charge of another replica can come between the decision and the count:
exactly `limit` charges are admitted, and a refused charge changes nothing.

The window is the key's time to live, on the clock of Redis, which all replicas share. A counter without one
is new, or has lost it (PERSIST, a restored dump). It gets a window of full length, because a counter that
never expires would refuse its tenant for ever. Redis keeps a key through the whole millisecond in which it
expires, hence `+ 1` and `- 1`.

GETEX instead of GET, because Redis classifies it as a write that needs no memory. A script whose first write
is of that kind may continue at `maxmemory`. After a plain GET the INCRBY would be refused with OOM, and a
tenant that fills the store would stop the reads of all others, which are charged as well.
"""


_REFUND = Script(
    """
local charges = tonumber(redis.call('GET', KEYS[1]) or 0)
if charges and charges >= tonumber(ARGV[1]) and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('DECRBY', KEYS[1], ARGV[1])
end
return 'OK'
""",
    arguments=2,
    result_of=check_done,
)
"""Takes back a charge of the window that was open for ARGV[2] ms then: a later one is open for longer."""


class RedisWindowCounter:
    """A `WindowCounter` on Redis' own clock."""

    def __init__(self, topology: Topology, keys: Keys) -> None:
        self._topology = topology
        self._keys = keys

    def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Coroutine[Any, Any, Charge]:
        name = self._keys.window(bucket)
        return _CHARGE.call(self._topology, name, b"%d" % limit, b"%d" % window_ms, b"%d" % amount)

    def refund(self, bucket: str, charge: Charge, amount: int) -> Coroutine[Any, Any, None]:
        name = self._keys.window(bucket)
        return _REFUND.call(self._topology, name, b"%d" % amount, b"%d" % charge.closes_in_ms)
