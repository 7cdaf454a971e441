"""The keys of an issuer: fetched beside the requests, kept while the issuer does not answer (D174)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from backends.clock import Clock
from gateway.domain.errors import KeysUnavailable
from gateway.identity.keys import KeySet, UnusableKeys, parse_keys

if TYPE_CHECKING:
    from jwt.algorithms import AllowedPublicKeys

log = logging.getLogger("kvs.identity")

Fetch = Callable[[str], Awaitable[bytes]]
"""What lies at a place, within a bound and a deadline. Raises FetchFailed."""

WAIT_SECONDS = 2.0
"""How long a request waits for an issuer at most."""

_PAUSE_MS = 10_000
"""Between two fetches from an issuer, whatever is asked for."""

_FRESH_MS = 300_000
"""After which keys are fetched again whatever is asked for: some may have been withdrawn."""


class FetchFailed(Exception):
    """Nothing usable came; the text says why."""


class IssuerKeys:
    """An issuer's keys at one place, which `fetch` understands. Nothing is kept of ids that are unknown.

    `fetches` are counted by their outcome, `ok` or `error`.
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
        """Since the keys came last; as long as none came, since they were first wanted."""
        return (self._clock.monotonic_ms() - self._current_at_ms) / 1000

    async def find(self, key_id: str | None, algorithm: str) -> "AllowedPublicKeys | None":
        """The key of that id for that algorithm; without an id the only one there is, if there is only one.

        Waits for a fetch, if one is due. Raises KeysUnavailable if the issuer cannot be asked for a key.
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
        """Fetch, if the keys are not fresh any more or the last fetch failed."""
        fetching = self._begin(_FRESH_MS if self._is_current else _PAUSE_MS)
        if fetching is not None:
            await asyncio.wait([fetching])

    async def close(self) -> None:
        """End a fetch that is under way."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    def _known(self, key_id: str | None, algorithm: str) -> "AllowedPublicKeys | None":
        if key_id is not None:
            return self.keys.get((key_id, algorithm))
        fitting = [key for (_, fits), key in self.keys.items() if fits == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    def _begin(self, pause_ms: int) -> asyncio.Task[None] | None:
        """The fetch that is under way, or a new one if the last began long enough ago."""
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
            fields = {"issuer": self.issuer, "jwks": self.source, "problem": str(error) or "is no JWKS"}
            log.warning("the keys of an issuer cannot be had", extra={"fields": fields})
        finally:
            self._fetching = None
