"""What runs beside serving: health checks, reclaiming, dropping idle rows of usage."""

import logging
from collections.abc import Awaitable, Callable

from backends.background import Background
from gateway.directory.directory import Directory
from gateway.directory.reclaiming import Reclaimer
from gateway.observability.logs import report_exception
from gateway.observability.usage import Usage
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.background")

Start = Callable[[], Background]
"""Starts a loop that runs until it is closed."""

_HEALTH_SECONDS = 1.0
_RECLAIM_SECONDS = 15.0
_RECLAIM_REST_SECONDS = 0.5


def every(seconds: float, step: Callable[[], Awaitable[None]]) -> Start:
    """A step, with a pause after each."""
    return lambda: Background(step, lambda: seconds, report)


def report(error: Exception) -> None:
    """A failed step costs that step alone."""
    report_exception(log, error)


def health_checks(health: Health) -> Start:
    """Ping every store."""
    return every(_HEALTH_SECONDS, health.check)


def dropping_idle_rows(usage: Usage, idle_seconds: float) -> Start:
    """Drop rows at most a quarter of their idle time too late."""
    return every(min(max(idle_seconds / 4, 0.25), 60.0), usage.drop_idle)


def reclaiming(directory: Directory, reclaimer: Reclaimer) -> Start:
    """Give back the space of deleted tables: after each change, and every 15 s."""

    def start() -> Background:
        background = Background(
            reclaimer.run, lambda: _RECLAIM_SECONDS, report, cooldown=lambda: _RECLAIM_REST_SECONDS
        )
        directory.on_change = background.wake
        return background

    return start
