"""The order of policies. `Pipeline.serve`, read from top to bottom, is the contract.

The handler has checked route and body size before.
"""

import logging

from gateway.dataplane.execution import Executor, OpenMeter
from gateway.dataplane.parsing import parse
from gateway.dataplane.policies.binding import TableTokenPolicy, admit
from gateway.dataplane.policies.caller import CallerPolicy
from gateway.dataplane.policies.rate_limit import RateLimiter
from gateway.domain.answers import Answer, add_notes, refuse, render
from gateway.domain.call import Call
from gateway.domain.errors import InternalError, Refusal, ShuttingDown
from gateway.domain.model import Caller, ResponseNotes, TenantLabels, UsageOutcome
from gateway.domain.rules import Limits
from gateway.observability.logs import report_exception

log = logging.getLogger("kvs.pipeline")

_CUT_SHORT = Answer(ShuttingDown.status, b"", UsageOutcome.ERROR)
"""Counts a call that a shutdown has cancelled: its real answer is not known here."""

Served = tuple[Answer, TenantLabels | None, Caller | None]
"""The answer, the billed tenant and the caller; None for stages that the call did not reach."""


class Pipeline:
    """Serves calls. Never raises: an unhandled exception becomes a 500 and one log line."""

    def __init__(
        self,
        *,
        signature: CallerPolicy,
        table_token: TableTokenPolicy,
        rate_limit: RateLimiter,
        limits: Limits,
        open_meter: OpenMeter,
        executor: Executor,
    ) -> None:
        self._signature = signature
        self._table_token = table_token
        self._rate_limit = rate_limit
        self._limits = limits
        self._open_meter = open_meter
        self._executor = executor

    def replace_policies(self, signature: CallerPolicy, table_token: TableTokenPolicy) -> None:
        """Serves calls under these policies from the next call on."""
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
            request = parse(call, self._limits, notes)
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
