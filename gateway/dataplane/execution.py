"""The last stage: executes an operation on the granted table, under an open meter.

Expiry is decided here alone, so that all stores agree on the last millisecond of an entry (D7).
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Entry, EntryStore
from gateway.domain.answers import Answer
from gateway.domain.call import Call
from gateway.domain.errors import StorageUnavailable
from gateway.domain.model import (
    Delete,
    Deleted,
    Found,
    Get,
    Grant,
    Missing,
    Outcome,
    Put,
    Stored,
    TableOperation,
)
from gateway.observability.usage import Usage


class MeteredCall(Struct, frozen=True, gc=False):
    """A granted call with an open meter. The executor accepts nothing else, so no call is unmetered."""

    usage: Usage
    grant: Grant
    call: Call

    def close(self, answer: Answer) -> None:
        """Counts the call with its outcome."""
        call = self.call
        self.usage.count(self.grant.labels, call.operation, answer.usage, len(call.body), len(answer.body))


OpenMeter = Callable[[Grant, Call], MeteredCall]
"""Opens the meter of a granted call before anything else is done for it. The meter is closed exactly once."""


def meter_of(usage: Usage) -> OpenMeter:
    """Returns a function that opens meters, which count in `usage`."""
    return partial(MeteredCall, usage)


class Executor:
    """Runs operations on the tables of metered calls."""

    def __init__(self, entries: EntryStore, clock: Clock) -> None:
        self._entries = entries
        self._clock = clock

    async def execute(self, metered: MeteredCall, operation: TableOperation) -> Outcome:
        """Raises StorageUnavailable; the store may then have applied a put or delete, or not."""
        keyspace = metered.grant.keyspace
        try:
            match operation:
                case Get():
                    return self._unless_expired(await self._entries.get(keyspace, operation.key))
                case Put():
                    await self._entries.put(keyspace, operation.key, self._entry(operation))
                    return Stored()
                case Delete():
                    await self._entries.delete(keyspace, operation.key)
                    return Deleted()
                case _ as unreachable:
                    assert_never(unreachable)
        except BackendError as error:
            raise StorageUnavailable from error

    def _entry(self, put: Put) -> Entry:
        ttl_seconds = put.ttl_seconds
        return Entry(put.value, None if ttl_seconds is None else self._clock.wall_ms() + ttl_seconds * 1000)

    def _unless_expired(self, entry: Entry | None) -> Outcome:
        if entry is None or (
            entry.expires_at_ms is not None and entry.expires_at_ms <= self._clock.wall_ms()
        ):
            return Missing()
        return Found(entry.value, entry.expires_at_ms)
