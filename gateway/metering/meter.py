"""The meter: opened for every granted call before anything else is done for it, closed in every case."""

from types import TracebackType
from typing import Self

from backends.interface import Keyspace
from gateway.answers import Answer
from gateway.metering.usage import Usage
from gateway.model import Call, Grant, UsageOutcome


class Reading:
    """One granted call. Holding an open one is the only way to a keyspace."""

    __slots__ = ("_call", "_closed", "_grant", "_usage")

    def __init__(self, usage: Usage, grant: Grant, call: Call) -> None:
        self._usage = usage
        self._grant = grant
        self._call = call
        self._closed = False

    @property
    def keyspace(self) -> Keyspace:
        """The granted table's keyspace."""
        return self._grant.keyspace

    def close(self, answer: Answer) -> None:
        """Count the call with its outcome."""
        self._count(answer.usage, len(answer.body))

    def _count(self, outcome: UsageOutcome, response_bytes: int) -> None:
        self._closed = True
        self._usage.count(
            self._grant.labels, self._call.operation, outcome, len(self._call.body), response_bytes
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            self._count(UsageOutcome.ERROR, 0)


class Meter:
    """Opens readings."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def open(self, grant: Grant, call: Call) -> Reading:
        """A reading that counts the call when it is closed, or left."""
        return Reading(self._usage, grant, call)
