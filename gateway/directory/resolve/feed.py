"""Follows the feed of changes: a change through another replica takes effect here within two seconds.

At rest these polls are the only reads of the directory, however many apps there are.
"""

from collections import deque
from collections.abc import Callable

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Changes, RecordStore
from gateway.directory.records import RECLAIMS, environment_in, token_digest_in
from gateway.directory.resolve.bindings import CachedBindings

_POSITION_VALID_SECONDS = 3600.0
"""Stores keep announcements longer (a day, or ten thousand of them), but delete them in no fixed order."""


_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 0.1
"""Pause after a failed poll. A connection that is cut repeatedly is up in between; polls at longer intervals
could miss all of these moments, and a revocation would take longer than two seconds."""

_JITTER_MS = 50
"""Largest difference between the start of a poll here and in the store."""


class FeedFollower:
    """Polls the changes since the last answer and passes them to the cached bindings."""

    def __init__(self, records: RecordStore, bindings: CachedBindings, clock: Clock) -> None:
        self._records = records
        self._bindings = bindings
        self._now_ms = clock.monotonic_ms
        self._position: str | None = None
        self._answered_ms = self._now_ms()
        self._answered_polls_ms: deque[int] = deque(maxlen=8)
        """Start times of the last answered polls since a gap: more polls than any announcement is awaited
        for."""
        self.pause_seconds = _PAUSE_SECONDS
        """Pause until the next poll."""
        self.gaps = 0
        """Answers that may have been incomplete."""
        self.foreign = 0
        """Foreign items that the last poll found in the feed."""
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
            self.pause_seconds = _RETRY_SECONDS
            return  # reported by the log and the metrics of the stores
        self.pause_seconds = _PAUSE_SECONDS
        for name in changes.names:
            if (environment := environment_in(name)) is not None:
                self._bindings.invalidate(environment)
            elif (digest := token_digest_in(name)) is not None:
                self._bindings.invalidate_unknown(digest)
        if not changes.is_complete or any(name.startswith(RECLAIMS) for name in changes.names):
            self._wake_reclaimer()
        # Only after the invalidations: a binding must not count as confirmed while its change is unprocessed.
        as_of_ms = self._confirmed_as_of_ms(polled_at_ms, changes)
        self._bindings.feed_confirmed(
            as_of_ms, is_complete=changes.is_complete, lag_ms=polled_at_ms - as_of_ms
        )
        self.gaps += not changes.is_complete
        self.foreign = changes.foreign
        self._position, self._answered_ms = changes.position, polled_at_ms

    def _confirmed_as_of_ms(self, polled_at_ms: int, changes: Changes) -> int:
        """Returns the time before which every change has been announced, or is covered by a gap.

        That is the beginning of the poll: a change during the poll may be missing from the answer. If the
        answer misses an announcement, it is the beginning of the last poll that did not, because nobody knows
        yet whether that announcement is late or lost.
        """
        if not changes.is_complete:
            self._answered_polls_ms.clear()
        as_of_ms = polled_at_ms
        if changes.is_complete and changes.unsettled_ms is not None:
            missed_ms = polled_at_ms - changes.unsettled_ms - _JITTER_MS
            # Without such a poll the announcement was missing at the gap, after which all is looked up again.
            before = (each for each in self._answered_polls_ms if each < missed_ms)
            as_of_ms = max(before, default=polled_at_ms)
        self._answered_polls_ms.append(polled_at_ms)
        return as_of_ms
