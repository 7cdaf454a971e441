"""The order of policies. `Pipeline.serve`, read from top to bottom, is the contract.

The handler has already checked the route and the size of the body.
"""

import logging
from collections.abc import Callable
from functools import partial

from msgspec import Struct

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Entry, EntryStore
from backends.tables import Revision
from gateway.dataplane.bodies import parse
from gateway.dataplane.policies.binding import TableTokenPolicy, admit
from gateway.dataplane.policies.caller import CallerPolicy
from gateway.dataplane.policies.rate_limit import RateLimiter
from gateway.domain.answers import Answer, add_notes, refuse
from gateway.domain.call import Call
from gateway.domain.errors import (
    NOT_BEGUN,
    InternalError,
    Overloaded,
    Refusal,
    ShuttingDown,
    StorageUnavailable,
)
from gateway.domain.model import (
    Caller,
    Delete,
    Deleted,
    Found,
    Get,
    Grant,
    Missing,
    Outcome,
    Put,
    ResponseNotes,
    Stored,
    TableOperation,
    TenantLabels,
    UsageOutcome,
)
from gateway.domain.outcomes import render
from gateway.domain.rules import Limits
from gateway.observability.logs import report_exception
from gateway.observability.usage import Usage

log = logging.getLogger("kvs.pipeline")

_NO_REVISION = Revision("")
_CUT_SHORT = Answer(ShuttingDown.status, b"", UsageOutcome.ERROR)
"""The metered answer of a call that a shutdown cancels; the handler makes the real one."""

Served = tuple[Answer, TenantLabels | None, Caller | None]
"""The answer, the billed tenant and the caller; the latter two are None if no stage has found them."""


class Pipeline:
    """Serves calls. Never raises: an unhandled exception becomes a 500 and one log line."""

    def __init__(
        self,
        *,
        signature: CallerPolicy,
        table_token: TableTokenPolicy,
        rate_limit: RateLimiter,
        limits: Limits,
        open_meter: "OpenMeter",
        executor: "Executor",
    ) -> None:
        self._signature = signature
        self._table_token = table_token
        self._rate_limit = rate_limit
        self._limits = limits
        self._open_meter = open_meter
        self._executor = executor

    def replace_policies(self, signature: CallerPolicy, table_token: TableTokenPolicy) -> None:
        """Replaces the policies, from the next call on."""
        self._signature = signature
        self._table_token = table_token

    async def serve(self, call: Call) -> Served:
        """Applies every policy in order, then the operation if all admit the call."""
        caller: Caller | None = None
        try:
            caller = self._signature.verify(call)
            binding = await self._table_token.bind(call, caller)
            grant = admit(caller, binding)
        except Refusal as refusal:
            return refuse(refusal), None, caller or refusal.caller
        except Exception as error:
            return _unhandled(error), None, caller

        metered = self._open_meter(grant, call)
        answer = _CUT_SHORT
        notes = ResponseNotes()
        try:
            notes.rate_limit = await self._rate_limit.charge(grant)
            request = parse(call, self._limits, notes, grant.table.keyspace)
            outcome = await self._executor.execute(metered, request)
            answer = render(outcome)
        except Refusal as refusal:
            answer = refuse(refusal)
        except Exception as error:
            answer = _unhandled(error)
        finally:
            metered.close(answer)
        return add_notes(answer, notes), grant.labels, caller


def _unhandled(error: Exception) -> Answer:
    report_exception(log, error)
    return refuse(InternalError())


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
"""Opens the meter of a granted call, as its first step. The meter is closed exactly once."""


def meter_of(usage: Usage) -> OpenMeter:
    """Returns a function that opens meters, which count in `usage`."""
    return partial(MeteredCall, usage)


class Executor:
    """The last stage: executes operations on the tables of metered calls.

    Only this class decides whether an entry has expired, so all stores agree to the millisecond (D7).
    """

    def __init__(self, entries: EntryStore, clock: Clock) -> None:
        self._entries = entries
        self._clock = clock

    async def execute(self, metered: MeteredCall, operation: TableOperation) -> Outcome:
        """Executes an operation. Raises Overloaded if a write was not begun.

        Raises StorageUnavailable: a put or delete may have been applied or not.
        """
        keyspace = metered.grant.table.keyspace
        try:
            match operation:
                case Put():
                    if not metered.call.attempt.may_write():
                        raise Overloaded(NOT_BEGUN)
                    await self._entries.put(keyspace, operation.key, self._entry(operation))
                    return Stored(_NO_REVISION)
                case Get():
                    return self._unless_expired(await self._entries.get(keyspace, operation.key))
                case Delete():
                    if not metered.call.attempt.may_write():
                        raise Overloaded(NOT_BEGUN)
                    await self._entries.delete(keyspace, operation.key)
                    return Deleted()
                case _:
                    raise InternalError
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
        return Found(entry.value, entry.expires_at_ms, _NO_REVISION)
