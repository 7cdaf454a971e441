"""Fetches an issuer's keys in the background and keeps them while the issuer is down (D174).

Tokens expire by themselves, so known keys serve through an outage of any length.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from backends.clock import Clock
from gateway.domain.errors import Unavailable
from gateway.identity.keys import KeySet, UnusableKeys, parse_keys

if TYPE_CHECKING:
    from jwt.algorithms import AllowedPublicKeys

log = logging.getLogger("kvs.identity")

Fetch = Callable[[str], Awaitable[bytes]]
"""Fetches a URL or file, bounded in size and time. Raises FetchFailed."""

WAIT_SECONDS = 2.0
"""Longest time that a request waits for an issuer."""

_PAUSE_MS = 10_000
"""Least interval between two fetches from an issuer, so that unknown key ids cannot flood it."""

MOST_WAITING = 8
"""Requests that wait for one fetch. Without this bound, strangers could use up the capacity of a listener
while an issuer is slow."""

_FRESH_MS = 300_000
"""Age at which keys are fetched again, so that a withdrawn key stops working."""


class KeysUnavailable(
    Unavailable,
    code="auth_unavailable",
    detail="the token's signing key cannot be fetched from its issuer now; repeat the request",
):
    """The key that signed a token is unknown, and the token may be good nevertheless."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class FetchFailed(Exception):
    """The fetch gave nothing usable; the text says why."""


class IssuerKeys:
    """Keys of one issuer at one `source` (URL or file). Unknown key ids leave no trace in memory.

    `fetches` counts fetches by outcome, `ok` or `error`.
    """

    def __init__(self, issuer: str, source: str, fetch: Fetch, clock: Clock) -> None:
        self.issuer, self.source = issuer, source
        self._fetch = fetch
        self._clock = clock
        self.keys: KeySet = {}
        self.fetches = Counter(ok=0, error=0)
        self._current_at_ms = clock.monotonic_ms()
        self._body: bytes | None = None
        self._began_ms: int | None = None
        self._is_current = False
        self._is_missing_keys = False
        """A token had an unknown key since the last fetch began."""
        self._waiting = 0
        self._fetching: asyncio.Task[None] | None = None

    @property
    def age_seconds(self) -> float:
        """Age of the keys; before the first successful fetch, the time since this object was made."""
        return (self._clock.monotonic_ms() - self._current_at_ms) / 1000

    async def find(self, key_id: str | None, algorithm: str) -> "AllowedPublicKeys | None":
        """Returns the key with this id for this algorithm; without an id, the only key of the algorithm.

        An unknown key id gives None only if a fetch that began during this call does not show it. An earlier
        fetch proves nothing, because the issuer may have published the key since: then this raises
        KeysUnavailable, and the caller may repeat. So no stranger's key id makes a good token invalid.
        """
        key = self._known(key_id, algorithm)
        if key is not None or self._rules_out(key_id, algorithm):
            return key
        is_running = self._fetching is not None
        fetching = self._begin(_PAUSE_MS)
        if fetching is not None and self._waiting < MOST_WAITING:
            await self._wait_for(fetching)
            key = self._known(key_id, algorithm)
            if key is not None or (self._is_current and not is_running):
                return key
        self._is_missing_keys = True
        raise KeysUnavailable(self._retry_after_seconds())

    async def refresh(self) -> None:
        """Fetches the keys if they are stale, the last fetch failed, or a token had an unknown key."""
        is_complete = self._is_current and not self._is_missing_keys
        fetching = self._begin(_FRESH_MS if is_complete else _PAUSE_MS)
        if fetching is not None:
            await asyncio.wait([fetching])

    async def close(self) -> None:
        """Cancels a running fetch."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    def _known(self, key_id: str | None, algorithm: str) -> "AllowedPublicKeys | None":
        if key_id is not None:
            return self.keys.get((key_id, algorithm))
        fitting = [key for (_, fits), key in self.keys.items() if fits == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    def _rules_out(self, key_id: str | None, algorithm: str) -> bool:
        """Returns whether the key has another algorithm, or several keys fit a token without a key id."""
        if key_id is None:
            return any(fits == algorithm for _, fits in self.keys)
        return any(known == key_id for known, _ in self.keys)

    async def _wait_for(self, fetching: "asyncio.Task[None]") -> None:
        self._waiting += 1
        try:
            await asyncio.wait([fetching], timeout=WAIT_SECONDS)
        finally:
            self._waiting -= 1

    def _retry_after_seconds(self) -> int:
        """Returns the time until the next fetch may begin; a second if one is running."""
        if self._fetching is not None or self._began_ms is None:
            return 1
        return max(1, -(-(self._began_ms + _PAUSE_MS - self._clock.monotonic_ms()) // 1000))

    def _begin(self, pause_ms: int) -> asyncio.Task[None] | None:
        """Returns the running fetch, or starts one if the last began at least `pause_ms` ago.

        All waiters share the one task, and none of them cancels it: they wait by `asyncio.wait`.
        """
        now_ms = self._clock.monotonic_ms()
        is_due = self._began_ms is None or now_ms - self._began_ms >= pause_ms
        if self._fetching is None and is_due:
            self._began_ms = now_ms
            self._fetching = asyncio.create_task(self._run())
        return self._fetching

    async def _run(self) -> None:
        self._is_current = self._is_missing_keys = False
        try:
            body = await self._fetch(self.source)
            if body != self._body:
                self.keys, self._body = parse_keys(body), body
            self._is_current, self._current_at_ms = True, self._clock.monotonic_ms()
            self.fetches["ok"] += 1
        except (FetchFailed, UnusableKeys) as error:
            self.fetches["error"] += 1
            fields = {"issuer": self.issuer, "jwks": self.source, "problem": str(error) or "not a JWKS"}
            log.warning("cannot fetch the signing keys of an issuer", extra={"fields": fields})
        finally:
            self._fetching = None
