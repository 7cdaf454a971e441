"""The order of policies. `Pipeline.serve`, read from top to bottom, is the contract.

The handler has already checked the route and the size of the body.
"""

import logging

from gateway.dataplane.bodies import parse
from gateway.dataplane.metering import OpenMeter
from gateway.dataplane.policies.binding import TableTokenPolicy, admit
from gateway.dataplane.policies.caller import CallerPolicy
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.steps import Steps
from gateway.domain.answers import Answer, add_notes, refuse
from gateway.domain.call import Call
from gateway.domain.errors import InternalError, Refusal, ShuttingDown
from gateway.domain.model import (
    Caller,
    Operation,
    ResponseNotes,
    TenantLabels,
    UsageOutcome,
)
from gateway.domain.outcomes import render
from gateway.domain.rules import Limits
from gateway.observability.logs import report_exception

log = logging.getLogger("kvs.pipeline")

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
        open_meter: OpenMeter,
        rate_limit: RateLimitPolicy,
        limits: Limits,
        steps: Steps,
    ) -> None:
        self._signature = signature
        self._table_token = table_token
        self._open_meter = open_meter
        self._rate_limit = rate_limit
        self._limits = limits
        self._steps = steps

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
            if call.operation is not Operation.BATCH:  # a refused batch is metered as its operations
                self._rate_limit.refuse_while_closed(grant)
            try:
                operation = parse(call, self._limits, notes, grant.table.keyspace)
            except Refusal:
                await self._steps.charge(metered, notes)  # as any other call
                raise
            outcome = await self._steps.execute(metered, operation, notes)
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
