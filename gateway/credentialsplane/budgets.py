"""Budgets of client addresses: refused strangers use up nothing that workloads need."""

from backends.clock import Clock
from gateway.credentialsplane.errors import TooManyExchanges
from gateway.credentialsplane.workloads import Workload
from gateway.domain.rules import WINDOW_MS
from gateway.domain.windows import WindowedCounts
from gateway.http.admission import client_of
from gateway.observability.logs import AuditContext

_MAX_KEYS = 10_000

SHARED_PER_SECOND = 2_000
"""Verifications per second for all addresses together whose own budget is used up. A verification takes 55 µs
(RS256) to 95 µs (EdDSA), so these are at most a fifth of a core."""

_SECOND_MS = 1000
_SHARED = "shared"


class Budgets:
    """Budgets per client address and minute. A window opens at its first use.

    - Each verified workload may make `limit` exchanges.
    - `limit` requests may be refused after their signature was verified. After that, all such addresses share
      SHARED_PER_SECOND verifications, so a new token still passes from the address of a flood. Requests that
      need no verification are not limited: a 429 would cost as much as their answer.
    """

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._exchanges = WindowedCounts(clock.monotonic_ms, window_ms=WINDOW_MS, max_keys=_MAX_KEYS)
        self._refused = WindowedCounts(clock.monotonic_ms, window_ms=WINDOW_MS, max_keys=_MAX_KEYS)
        self._shared = WindowedCounts(clock.monotonic_ms, window_ms=_SECOND_MS, max_keys=1)

    def admit_verification(self, address: str) -> None:
        """Admits the verification of a signature. Raises TooManyExchanges."""
        if self._refused.count(address) >= self._limit:
            _charge(self._shared, _SHARED, SHARED_PER_SECOND)

    def note_refusal(self, address: str) -> None:
        """Counts a request that was refused after its signature was verified."""
        self._refused.add(address)

    def admit_exchange(self, address: str, workload: Workload) -> None:
        """Counts an exchange of a verified workload. Raises TooManyExchanges."""
        _charge(self._exchanges, f"{address} {workload.issuer} {workload.subject}", self._limit)


class Attempt:
    """One request for credentials: its audit event, and its use of the budgets of its address."""

    def __init__(self, budgets: Budgets, peer: str, audit: AuditContext) -> None:
        self._budgets = budgets
        self._address = client_of(peer)
        self._is_verified = False
        self.audit = audit

    def before_signature(self) -> None:
        """Admits the verification of a signature. Raises TooManyExchanges."""
        self._budgets.admit_verification(self._address)
        self._is_verified = True

    def identify(self, workload: Workload) -> Workload:
        """Records the workload as the actor, counts its exchange, and returns it. Raises TooManyExchanges."""
        self.audit.identify(workload.subject, workload.issuer)
        self.audit.note(environment=str(workload.environment), role=workload.role)
        self._budgets.admit_exchange(self._address, workload)
        return workload

    def refuse(self) -> None:
        """Ends the attempt without credentials."""
        if self._is_verified:
            self._budgets.note_refusal(self._address)


def _charge(counts: WindowedCounts, key: str, limit: int) -> None:
    if counts.count(key) >= limit:
        raise TooManyExchanges(-(-counts.closes_in_ms(key) // 1000))
    counts.add(key)
