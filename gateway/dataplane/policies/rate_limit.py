"""The rate limit: one fixed window of 60 s per budget, counted in the shared store.

A window's count only rises, so a verdict over the limit holds until the window closes: verdicts on a single
request are remembered here and repeated without a call to the store. Admissions are never remembered, because
other replicas charge the same window (D42).
"""

from collections.abc import Callable

from backends.interface import Charge
from backends.tables import Budget, Refused
from gateway.domain.errors import RateLimited
from gateway.domain.model import Grant, RateLimitStatus
from gateway.domain.rules import WINDOW_MS

_REMEMBERED = 10_000


class RateLimitPolicy:
    """Turns charges into refusals and statuses. `now_ms` is monotonic.

    With `exposes_headers`, clients get the status of the budget that has fewer calls left.
    """

    def __init__(self, now_ms: Callable[[], int], *, exposes_headers: bool = False) -> None:
        self.now_ms = now_ms
        self.exposes_headers = exposes_headers
        self._closed_until_ms: dict[Budget, int] = {}

    def refuse_while_closed(self, grant: Grant) -> None:
        """Raises RateLimited if a verdict on one of the grant's budgets is remembered."""
        if self._closed_until_ms:
            self._refuse_while_closed(grant)

    def refusal(self, grant: Grant, refused: Refused, asked_at_ms: int, amount: int) -> RateLimited:
        """Returns the refusal of a charge. A verdict on several requests says nothing about a single one."""
        charge = refused.charge
        if amount == 1:
            self._remember(refused.budget, asked_at_ms + charge.closes_in_ms)
        return self._refusal(grant, refused.budget, charge)

    def status(self, grant: Grant, charges: tuple[Charge, ...]) -> RateLimitStatus | None:
        """Returns the status of the tighter budget. There is none if nothing was charged."""
        if not charges:
            return None
        pairs = zip(grant.charges.budgets, charges, strict=True)
        budget, charge = min(pairs, key=lambda pair: pair[1].remaining)
        return _status(grant, budget, charge)

    def _refuse_while_closed(self, grant: Grant) -> None:
        budgets, closed = grant.charges.budgets, self._closed_until_ms
        until_ms = max(closed.get(budget, 0) for budget in budgets)
        if not until_ms:
            return
        remaining_ms = until_ms - self.now_ms()
        if remaining_ms > 0:
            budget = next(each for each in budgets if closed.get(each) == until_ms)
            raise self._refusal(grant, budget, Charge(admitted=False, closes_in_ms=remaining_ms))
        for budget in budgets:
            closed.pop(budget, None)

    def _refusal(self, grant: Grant, budget: Budget, charge: Charge) -> RateLimited:
        return RateLimited(_status(grant, budget, charge), exposed=self.exposes_headers)

    def _remember(self, budget: Budget, closed_until_ms: int) -> None:
        if len(self._closed_until_ms) >= _REMEMBERED:
            del self._closed_until_ms[next(iter(self._closed_until_ms))]
        self._closed_until_ms[budget] = closed_until_ms


def _status(grant: Grant, budget: Budget, charge: Charge) -> RateLimitStatus:
    owner = "app environment" if budget == grant.charges.budgets[-1] else "table"
    return RateLimitStatus(owner, budget.limit, charge.remaining, _whole_seconds(charge.closes_in_ms))


def _whole_seconds(remaining_ms: int) -> int:
    return min(max(-(-remaining_ms // 1000), 1), WINDOW_MS // 1000)
