"""The exact rate limit: one fixed window of 60 s per bucket, counted in the shared store.

A window's count only rises, so a refusal holds until the window closes: refusals are cached here and repeated
without a call to the store. Admissions are never cached, because other replicas charge the same window (D42).
"""

from collections.abc import Callable
from typing import Protocol

from backends.errors import BackendError
from backends.interface import WindowCounter
from backends.tables import Budget
from gateway.domain.errors import QuotaUnavailable, RateLimited
from gateway.domain.model import Grant, RateLimitStatus
from gateway.domain.rules import WINDOW_MS

_CACHED_REFUSALS = 10_000


class RateLimiter(Protocol):
    """Admission of one more call of a grant in the current window."""

    async def charge(self, grant: Grant) -> RateLimitStatus | None:
        """Charges one call. Returns the status of the tighter budget if it is exposed to clients.

        Raises RateLimited or QuotaUnavailable.
        """
        ...


class ExactRateLimiter:
    """Charges a grant's budgets in order (D42). `now_ms` is monotonic.

    With `exposes_headers`, clients get the status of the budget that has fewer calls left.
    """

    def __init__(
        self, counters: WindowCounter, now_ms: Callable[[], int], *, exposes_headers: bool = False
    ) -> None:
        self._counters = counters
        self._now_ms = now_ms
        self._exposes_headers = exposes_headers
        self._closed_until_ms: dict[Budget, int] = {}

    async def charge(self, grant: Grant) -> RateLimitStatus | None:
        """Charges one call. Raises RateLimited with the seconds to the window's end, or QuotaUnavailable."""
        tighter: RateLimitStatus | None = None
        if self._closed_until_ms:
            self._refuse_while_closed(grant)
        for budget in grant.charges.budgets:
            asked_at_ms = self._now_ms()
            try:
                charge = await self._counters.charge(budget.bucket, budget.limit, WINDOW_MS)
            except BackendError as error:
                raise QuotaUnavailable from error
            if not charge.admitted:
                self._cache_refusal(budget, asked_at_ms + charge.closes_in_ms)
                raise self._refusal(grant, budget, charge.closes_in_ms)
            if self._exposes_headers:
                status = _status(grant, budget, charge.remaining, charge.closes_in_ms)
                if tighter is None or status.remaining < tighter.remaining:
                    tighter = status
        return tighter

    def _refuse_while_closed(self, grant: Grant) -> None:
        """Checks the cached refusals of all budgets before any budget is charged.

        Otherwise calls over the limit of the app environment would keep using up the limit of the table.
        """
        closed_until_ms = max(self._closed_until_ms.get(budget, 0) for budget in grant.charges.budgets)
        if not closed_until_ms:
            return
        remaining_ms = closed_until_ms - self._now_ms()
        if remaining_ms > 0:
            closed = (
                each for each in grant.charges.budgets if self._closed_until_ms.get(each) == closed_until_ms
            )
            raise self._refusal(grant, next(closed), remaining_ms)
        for budget in grant.charges.budgets:
            self._closed_until_ms.pop(budget, None)

    def _refusal(self, grant: Grant, budget: Budget, closes_in_ms: int) -> RateLimited:
        return RateLimited(_status(grant, budget, 0, closes_in_ms), exposed=self._exposes_headers)

    def _cache_refusal(self, budget: Budget, closed_until_ms: int) -> None:
        if len(self._closed_until_ms) >= _CACHED_REFUSALS:
            del self._closed_until_ms[next(iter(self._closed_until_ms))]
        self._closed_until_ms[budget] = closed_until_ms


class LenientRateLimiter:
    """Admits calls while the counters fail: `on_failure: allow`, for counters in a store of their own."""

    def __init__(self, strict: ExactRateLimiter) -> None:
        self._strict = strict

    async def charge(self, grant: Grant) -> RateLimitStatus | None:
        """Charges one call. Raises RateLimited."""
        try:
            return await self._strict.charge(grant)
        except QuotaUnavailable:
            return None


def _status(grant: Grant, budget: Budget, remaining: int, closes_in_ms: int) -> RateLimitStatus:
    owner = "app environment" if budget is grant.charges.budgets[-1] else "table"
    return RateLimitStatus(owner, budget.limit, remaining, _whole_seconds(closes_in_ms))


def _whole_seconds(remaining_ms: int) -> int:
    return min(max(-(-remaining_ms // 1000), 1), WINDOW_MS // 1000)
