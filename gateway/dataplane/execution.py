"""The last stage: an operation on the table that was granted, under an open meter.

Here alone an entry's expiry is judged, so that all stores agree on its last millisecond (D7).
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Entry, EntryStore
from gateway.domain.answers import Answer
from gateway.domain.errors import StorageUnavailable
from gateway.domain.model import (
    Call,
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
    """A granted call with its meter open. The executor takes nothing else, so none goes unmetered (D44)."""

    usage: Usage
    grant: Grant
    call: Call

    def close(self, answer: Answer) -> None:
        """Count the call with its outcome."""
        call = self.call
        self.usage.count(self.grant.labels, call.operation, answer.usage, len(call.body), len(answer.body))


OpenMeter = Callable[[Grant, Call], MeteredCall]
"""Asked for every granted call before anything else is done for it; what it returns has to be closed once."""


def meter_of(usage: Usage) -> OpenMeter:
    """Meters that count in these rows."""
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
                    return self._judge(await self._entries.get(keyspace, operation.key))
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

    def _judge(self, entry: Entry | None) -> Outcome:
        if entry is None or (
            entry.expires_at_ms is not None and entry.expires_at_ms <= self._clock.wall_ms()
        ):
            return Missing()
        return Found(entry.value, entry.expires_at_ms)
