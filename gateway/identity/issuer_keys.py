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

_FRESH_MS = 300_000
"""Age at which keys are fetched again, so that a withdrawn key stops working."""


class KeysUnavailable(
    Unavailable, code="auth_unavailable", detail="the signing keys of the token's issuer cannot be fetched"
):
    """No keys are known of the issuer that signed a token."""


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
        self._fetching: asyncio.Task[None] | None = None

    @property
    def age_seconds(self) -> float:
        """Age of the keys; before the first successful fetch, the time since this object was made."""
        return (self._clock.monotonic_ms() - self._current_at_ms) / 1000

    async def find(self, key_id: str | None, algorithm: str) -> "AllowedPublicKeys | None":
        """Returns the key with this id for this algorithm; without an id, the only key of the algorithm.

        Waits for a fetch if one is due. Raises KeysUnavailable if the key is unknown and the last fetch
        failed: the token may be good, so the caller gets 503 rather than 401.
        """
        key = self._known(key_id, algorithm)
        if key is None:
            fetching = self._begin(_PAUSE_MS)
            if fetching is not None:
                await asyncio.wait([fetching], timeout=WAIT_SECONDS)
            key = self._known(key_id, algorithm)
            if key is None and not self._is_current:
                raise KeysUnavailable
        return key

    async def refresh(self) -> None:
        """Fetches the keys if they are stale or the last fetch failed."""
        fetching = self._begin(_FRESH_MS if self._is_current else _PAUSE_MS)
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
        self._is_current = False
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
