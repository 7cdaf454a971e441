"""Follows the feed of changes: what another replica has changed is in force here within two seconds.

At rest this is all that a replica asks of the directory, whatever the number of apps.
"""

from collections.abc import Callable

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.records import RECLAIMS, environment_in, token_digest_in
from gateway.directory.resolve.bindings import CachedBindings

_POSITION_HOLDS_SECONDS = 3600.0
"""Stores keep announcements for longer, a day or ten thousand, but give them up in no order."""


class FeedFollower:
    """Asks for the changes since its last question, and tells the cached bindings."""

    def __init__(self, records: RecordStore, bindings: CachedBindings, clock: Clock) -> None:
        self._records = records
        self._bindings = bindings
        self._now_ms = clock.monotonic_ms
        self._position: str | None = None
        self._answered_ms = self._now_ms()
        self.gaps = 0
        """How often the feed could not say what was changed."""
        self.on_intent: Callable[[], None] = lambda: None
        """Called when an intent was changed, or may have been."""

    @property
    def silent_seconds(self) -> float:
        """Since it was asked what it has answered last, or since the start."""
        return (self._now_ms() - self._answered_ms) / 1000

    async def follow(self) -> None:
        """One question. Where it fails, the bindings notice that the feed is silent."""
        asked_at_ms = self._now_ms()
        position = self._position if self.silent_seconds < _POSITION_HOLDS_SECONDS else None
        try:
            changes = await self._records.changes(position)
        except BackendError:
            return  # told by the log and the metrics of the stores
        for name in changes.names:
            if (environment := environment_in(name)) is not None:
                self._bindings.invalidate(environment)
            elif (digest := token_digest_in(name)) is not None:
                self._bindings.forget_unknown(digest)
        if not changes.is_complete or any(name.startswith(RECLAIMS) for name in changes.names):
            self.on_intent()
        self._bindings.confirm(asked_at_ms, is_complete=changes.is_complete)
        self.gaps += not changes.is_complete
        self._position, self._answered_ms = changes.position, asked_at_ms
