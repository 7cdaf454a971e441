"""The meter: opened for every granted call before anything else is done for it, closed in every case."""

from typing import Protocol

from msgspec import Struct

from gateway.answers import Answer
from gateway.metering.usage import Usage
from gateway.model import Call, Grant


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
