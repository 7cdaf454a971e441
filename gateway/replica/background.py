"""What runs beside serving: health checks, tending the directory, dropping idle rows of usage."""

import logging
from collections.abc import Awaitable, Callable

from backends.background import Background
from backends.errors import BackendError
from gateway.directory.parts import DirectoryParts
from gateway.observability.logs import describe_exception, report_exception
from gateway.observability.usage import Usage
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.background")

Start = Callable[[], Background]
"""Starts a loop that runs until it is closed."""

_HEALTH_SECONDS = 1.0
_FEED_SECONDS = 1.0
_TEND_SECONDS = 15.0
_TEND_REST_SECONDS = 0.5


def every(seconds: float, step: Callable[[], Awaitable[None]]) -> Start:
    """A step, with a pause after each."""
    return lambda: Background(step, lambda: seconds, report)


def report(error: Exception) -> None:
    """A failed step costs that step alone."""
    report_exception(log, error)


def health_checks(health: Health) -> Start:
    """Ping every store."""
    return every(_HEALTH_SECONDS, health.check)


def following_changes(directory: DirectoryParts) -> Start:
    """Ask the directory what was changed."""
    return every(_FEED_SECONDS, directory.feed.follow)


def dropping_idle_rows(usage: Usage, idle_seconds: float) -> Start:
    """Drop rows at most a quarter of their idle time too late."""
    return every(min(max(idle_seconds / 4, 0.25), 60.0), usage.drop_idle)


def tending(directory: DirectoryParts) -> Start:
    """Look after the directory: after each change, and every 15 s.

    It is made known for how long bindings are remembered, corrupt records are looked for, and the space of
    deleted tables is given back.
    """

    async def tend() -> None:
        try:
            await directory.remembering.agree()
            await directory.corrupt.look()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_exception(error)})
        await directory.reclaimer.run()

    def start() -> Background:
        background = Background(tend, lambda: _TEND_SECONDS, report, cooldown=lambda: _TEND_REST_SECONDS)
        directory.directory.on_change = background.wake
        return background

    return start
