"""Calls of a data plane without HTTP: grants, metered calls, and steps over a store."""

from backends.interface import Keyspace
from backends.tables import Budget, ChargedStore, Charges, Table
from gateway.dataplane.metering import MeteredCall
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.steps import Steps
from gateway.domain.call import ENDLESS, Attempt, Call, Headers
from gateway.domain.model import Grant, Operation, ResponseNotes, TenantLabels
from gateway.domain.rules import WINDOW_MS
from gateway.observability.storage_limits import StorageLimitRefusals
from gateway.observability.usage import Usage
from tests.support.clock import FakeClock

LABELS = TenantLabels("acme", "shop", "production", "sessions")
PLENTY = ("acme/shop/production", 1_000_000_000)


def grant(
    *budgets: tuple[str, int], table: str = "tbl_a", home: str = PLENTY[0], max_bytes: int | None = None
) -> Grant:
    """A grant that charges buckets with limits; without any it admits plenty."""
    first, *rest = (Budget(*budget) for budget in budgets or [PLENTY])
    return Grant(Table(home, Keyspace(table), max_bytes), Charges((first, *rest), WINDOW_MS), LABELS)


class Caller:
    """Makes calls of one replica: each as a metered step on a store."""

    def __init__(self, store: ChargedStore, clock: FakeClock, *, exposes_headers: bool = False) -> None:
        self.usage = Usage(max_series=1000, idle_ms=1000, now_ms=clock.monotonic_ms)
        self.limited = StorageLimitRefusals()
        policy = RateLimitPolicy(clock.monotonic_ms, exposes_headers=exposes_headers)
        self.steps = Steps(store, policy, clock, self.limited.count)

    def metered(self, subject: Grant, attempt: Attempt = ENDLESS) -> MeteredCall:
        """Opens the meter of a call."""
        return MeteredCall(
            self.usage, subject, Call(Operation.GET, b"/", Headers([]), b"", "127.0.0.1", attempt)
        )

    async def charge(self, subject: Grant) -> ResponseNotes:
        """Charges a call that does nothing else."""
        notes = ResponseNotes()
        await self.steps.charge(self.metered(subject), notes)
        return notes

    async def execute(self, subject: Grant, operation, attempt: Attempt = ENDLESS):
        """Charges and executes an operation; returns its outcome."""
        return await self.steps.execute(self.metered(subject, attempt), operation, ResponseNotes())
