"""The last stage: an operation on the table that was granted, under an open meter.

Here alone an entry's expiry is judged, so that all stores agree on its last millisecond.
"""

from typing import Protocol, assert_never

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


class Reading(Struct, frozen=True):
    """One granted call. Holding one is the only way to a keyspace."""

    usage: Usage
    grant: Grant
    call: Call

    def close(self, answer: Answer) -> None:
        """Count the call with its outcome."""
        call = self.call
        self.usage.count(self.grant.labels, call.operation, answer.usage, len(call.body), len(answer.body))


class OpenMeter(Protocol):
    """Is told of every granted call before anything else is done for it."""

    def open(self, grant: Grant, call: Call) -> Reading:
        """What has to be closed with the call's outcome."""
        ...


class Meter:
    """Opens readings."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def open(self, grant: Grant, call: Call) -> Reading:
        """A reading that counts the call when it is closed."""
        return Reading(self._usage, grant, call)


class Executor:
    """Runs operations. An open `Reading` is the only key to a keyspace."""

    def __init__(self, entries: EntryStore, clock: Clock) -> None:
        self._entries = entries
        self._clock = clock

    async def execute(self, reading: Reading, operation: TableOperation) -> Outcome:
        """Raises StorageUnavailable; the store may then have applied a put or delete, or not."""
        keyspace = reading.grant.keyspace
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
