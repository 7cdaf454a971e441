"""The order of policies. Read `_admit` and `_metered` from top to bottom: that is the contract.

Route and body size are checked before, by the HTTP edge (design, stages 1 and 2).
"""

import logging

from gateway.answers import Answer, refuse, render
from gateway.errors import InternalError, Refusal
from gateway.execution import Executor
from gateway.faults import describe_fault
from gateway.limits import Limits
from gateway.metering.meter import Meter, Reading
from gateway.model import Call, Grant, TenantLabels
from gateway.operations import parse
from gateway.policies.admission import admit
from gateway.policies.rate_limit import GrantCharge
from gateway.policies.signature import CallerPolicy
from gateway.policies.table_token import TableTokenPolicy

log = logging.getLogger("kvs.pipeline")


class Pipeline:
    """From a call to its answer. Never raises: what is not foreseen is 500 and one log line."""

    def __init__(
        self,
        *,
        signature: CallerPolicy,
        table_token: TableTokenPolicy,
        rate_limit: GrantCharge,
        limits: Limits,
        meter: Meter,
        executor: Executor,
    ) -> None:
        self._signature = signature
        self._table_token = table_token
        self._rate_limit = rate_limit
        self._limits = limits
        self._meter = meter
        self._executor = executor

    async def serve(self, call: Call) -> tuple[Answer, TenantLabels | None]:
        """The answer, and the tenant it is billed to if the call got that far."""
        try:
            grant = await self._admit(call)
        except Refusal as refusal:
            return refuse(refusal), None
        except Exception as fault:
            return _unforeseen(fault), None
        with self._meter.open(grant, call) as reading:
            answer = await self._metered(grant, reading, call)
            reading.close(answer)
            return answer, grant.labels

    async def _admit(self, call: Call) -> Grant:
        caller = self._signature.verify(call)
        binding = await self._table_token.bind(call)
        return admit(caller, binding)

    async def _metered(self, grant: Grant, reading: Reading, call: Call) -> Answer:
        try:
            await self._rate_limit.charge(grant)
            request = parse(call, self._limits)
            outcome = await self._executor.execute(reading, request)
            return render(outcome)
        except Refusal as refusal:
            return refuse(refusal)
        except Exception as fault:
            return _unforeseen(fault)


def _unforeseen(fault: Exception) -> Answer:
    log.error("unforeseen fault", extra={"fields": describe_fault(fault)})
    return refuse(InternalError())
