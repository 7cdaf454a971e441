"""The meter of a call: opened by its grant, and closed with its answer, whatever became of it."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from gateway.domain.answers import Answer
from gateway.domain.call import Call
from gateway.domain.model import (
    Batch,
    BatchDone,
    Delete,
    Get,
    Grant,
    Missing,
    NotDone,
    Operation,
    Put,
    UsageOutcome,
)
from gateway.observability.usage import Usage

_OPERATIONS = {Put: Operation.PUT, Get: Operation.GET, Delete: Operation.DELETE}


class MeteredCall(Struct, gc=False):
    """A granted call with an open meter. Steps accept nothing else, so no call is unmetered.

    A well-formed batch is noted here, and what was done of it: it is counted as its operations.
    """

    usage: Usage
    grant: Grant
    call: Call
    batch: Batch | None = None
    done: BatchDone | None = None

    def close(self, answer: Answer) -> None:
        """Counts the call with its outcome."""
        call = self.call
        if self.batch is None:
            self.usage.count(
                self.grant.labels, call.operation, answer.usage, len(call.body), len(answer.body)
            )
        else:
            self._count_each(self.batch, answer)

    def _count_each(self, batch: Batch, answer: Answer) -> None:
        """Counts each operation with its outcome, and its share of the bytes of both bodies."""
        parts = len(batch.operations)
        is_done = self.done is not None and answer.code is None
        for number, operation in enumerate(batch.operations):
            outcome = _outcome(self.done, number) if self.done is not None and is_done else answer.usage
            self.usage.count(
                self.grant.labels,
                _OPERATIONS[type(operation)],
                outcome,
                _share(len(self.call.body), number, parts),
                _share(len(answer.body), number, parts),
            )


def _outcome(done: BatchDone, number: int) -> UsageOutcome:
    match done.results[number]:
        case NotDone(usage=usage):
            return usage
        case Missing():
            return UsageOutcome.NOT_FOUND
    return UsageOutcome.OK


def _share(total: int, number: int, parts: int) -> int:
    """Returns one of `parts` nearly equal shares, whose sum is the total."""
    return total * (number + 1) // parts - total * number // parts


OpenMeter = Callable[[Grant, Call], MeteredCall]
"""Opens the meter of a granted call, as its first step. The meter is closed exactly once."""


def meter_of(usage: Usage) -> OpenMeter:
    """Returns a function that opens meters, which count in `usage`."""
    return partial(MeteredCall, usage)
