"""Follows the feed of changes: a change through another replica takes effect here within two seconds.

At rest these polls are the only reads of the directory, however many apps there are.
"""

from collections.abc import Callable

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import RecordStore
from gateway.directory.records import RECLAIMS, environment_in, token_digest_in
from gateway.directory.resolve.bindings import CachedBindings

_POSITION_VALID_SECONDS = 3600.0
"""Stores keep announcements longer (a day, or ten thousand of them), but delete them in no fixed order."""


class FeedFollower:
    """Polls the changes since the last answer and passes them to the cached bindings."""

    def __init__(self, records: RecordStore, bindings: CachedBindings, clock: Clock) -> None:
        self._records = records
        self._bindings = bindings
        self._now_ms = clock.monotonic_ms
        self._position: str | None = None
        self._answered_ms = self._now_ms()
        self.gaps = 0
        """Answers that may have been incomplete."""
        self._wake_reclaimer: Callable[[], None] = lambda: None

    def wake_on_intent(self, wake: Callable[[], None]) -> None:
        """Registers `wake`, which is called whenever an intent has changed or may have changed."""
        self._wake_reclaimer = wake

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last answered poll began, or since the start."""
        return (self._now_ms() - self._answered_ms) / 1000

    async def follow(self) -> None:
        """Polls the feed once. After a failure the bindings notice the silence by themselves."""
        polled_at_ms = self._now_ms()
        position = self._position if self.silent_seconds < _POSITION_VALID_SECONDS else None
        try:
            changes = await self._records.changes(position)
        except BackendError:
            return  # reported by the log and the metrics of the stores
        for name in changes.names:
            if (environment := environment_in(name)) is not None:
                self._bindings.invalidate(environment)
            elif (digest := token_digest_in(name)) is not None:
                self._bindings.invalidate_unknown(digest)
        if not changes.is_complete or any(name.startswith(RECLAIMS) for name in changes.names):
            self._wake_reclaimer()
        # Only after the invalidations: a binding must not count as confirmed while its change is unprocessed.
        # As of the beginning of the poll: a change during the poll may be missing from the answer.
        self._bindings.feed_confirmed(polled_at_ms, is_complete=changes.is_complete)
        self.gaps += not changes.is_complete
        self._position, self._answered_ms = changes.position, polled_at_ms
