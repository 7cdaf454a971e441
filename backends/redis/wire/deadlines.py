"""The deadline of a reply, and the timer that notices an overdue one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from backends.errors import BackendUnavailable

DEADLINE_SECONDS = 0.25
NOT_IN_TIME = "no answer in time"

_SHORTEST_GRACE_SECONDS = 0.005
_LONGEST_GRACE_SECONDS = 0.04


@asynccontextmanager
async def deadline(at: float) -> AsyncIterator[None]:
    """Raises BackendUnavailable in a block that lasts beyond `at`, a time of the loop's clock.

    A block is not entered after `at`: the timer alone would let it send something first.
    """
    if asyncio.get_running_loop().time() >= at:
        raise BackendUnavailable(NOT_IN_TIME)
    try:
        async with asyncio.timeout_at(at):
            yield
    except TimeoutError:
        raise BackendUnavailable(NOT_IN_TIME) from None


class DeadlineTimer:
    """One timer for all commands of a connection, set for the oldest one without a reply.

    Replies come in order, so no other command can be overdue before it. `oldest_due` returns its deadline by
    the loop's clock (None: no command waits); `on_overdue` is called once the deadline has passed.

    One grace period comes first, because our own loop may have been blocked: then the reply may lie unread in
    the kernel's buffer, and the slow party is this process. A blocked loop shows as a timer that fires late,
    so the grace period is as long as the timer was late, within bounds.
    """

    def __init__(self, oldest_due: Callable[[], float | None], on_overdue: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._oldest_due = oldest_due
        self._on_overdue = on_overdue
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = 0.0
        self._in_grace = False

    def start(self, due: float) -> None:
        """Starts the timer for the first waiting command. A running timer sees the command when it fires."""
        if self._timer is None:
            self._set(due)

    def stop(self) -> None:
        """Stops the timer for good."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, at: float) -> None:
        self._fires_at = at
        self._timer = self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        self._timer = None
        was_in_grace, self._in_grace = self._in_grace, False
        due = self._oldest_due()
        now = self._loop.time()
        if due is None:
            return
        if now < due:
            self._set(due)
        elif was_in_grace:
            self._on_overdue()
        else:
            self._in_grace = True
            late_seconds = now - self._fires_at
            self._set(now + min(max(late_seconds, _SHORTEST_GRACE_SECONDS), _LONGEST_GRACE_SECONDS))
