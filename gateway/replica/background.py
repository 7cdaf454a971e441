"""What runs beside serving: health checks, tending the directory, dropping idle rows of usage."""

import logging
from collections.abc import Awaitable, Callable

from backends.background import Background
from backends.errors import BackendError
from gateway.directory.parts import DirectoryParts
from gateway.identity.issuers import Issuers
from gateway.observability.logs import describe_exception, report_exception
from gateway.observability.usage import Usage
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.background")

StartTask = Callable[[], Background]
"""Starts a loop that runs until it is closed."""

_HEALTH_SECONDS = 1.0
_FEED_SECONDS = 1.0
_AGREE_SECONDS = 15.0
_KEYS_SECONDS = 10.0
_LOOK_SECONDS = 60.0
_RECLAIM_REST_SECONDS = 0.5


def every(seconds: float, step: Callable[[], Awaitable[None]]) -> StartTask:
    """A step, with a pause after each."""
    return lambda: Background(step, lambda: seconds, report)


def report(error: Exception) -> None:
    """A failed step costs that step alone."""
    report_exception(log, error)


def health_checks(health: Health) -> StartTask:
    """Ping every store."""
    return every(_HEALTH_SECONDS, health.check)


def fetching_keys(issuers: Issuers) -> StartTask:
    """Fetch the keys of issuers that are due."""
    return every(_KEYS_SECONDS, issuers.refresh)


def dropping_idle_rows(usage: Usage, idle_seconds: float) -> StartTask:
    """Drop rows at most a quarter of their idle time too late."""
    return every(min(max(idle_seconds / 4, 0.25), 60.0), usage.drop_idle)


def tending(directory: DirectoryParts) -> list[StartTask]:
    """The chores of the directory, each apart from the others."""
    return [_following(directory), _agreeing(directory), _looking(directory), _reclaiming(directory)]


def _following(directory: DirectoryParts) -> StartTask:
    """Ask the feed what was changed."""
    return every(_FEED_SECONDS, directory.feed.follow)


def _agreeing(directory: DirectoryParts) -> StartTask:
    """Make known for how long bindings are remembered. Once that is known nothing is asked."""
    return every(_AGREE_SECONDS, _with_the_directory(directory.retention.register))


def _looking(directory: DirectoryParts) -> StartTask:
    """Look for corrupt records among the next few apps."""
    return every(_LOOK_SECONDS, _with_the_directory(directory.corrupt.scan))


def _reclaiming(directory: DirectoryParts) -> StartTask:
    """Give back the space of deleted tables, as soon as the feed tells of one."""
    reclaimer = directory.reclaimer

    def start() -> Background:
        background = Background(
            reclaimer.run, lambda: reclaimer.pause_seconds, report, cooldown=lambda: _RECLAIM_REST_SECONDS
        )
        directory.feed.wake_on_intent(background.wake)
        return background

    return start


def _with_the_directory(step: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """A step that is done again later if the directory's store fails."""

    async def run() -> None:
        try:
            await step()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_exception(error)})

    return run
