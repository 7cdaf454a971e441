"""What runs beside serving: health checks, listing the directory, dropping idle rows of usage."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from backends.background import Background
from backends.errors import BackendError
from gateway.directory.directory import Directory
from gateway.directory.reclaiming import Reclaimer
from gateway.directory.records import labels_of
from gateway.observability.logs import describe_exception, report_exception
from gateway.observability.usage import KnownTables, Usage
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.background")

Start = Callable[[], Background]
"""Starts a loop that runs until it is closed."""

_HEALTH_SECONDS = 1.0
_DIRECTORY_SECONDS = 15.0
_REST_SECONDS = 0.5
_REST_SECONDS_PER_APP = 0.001
"""Listing a large directory costs CPU and calls of the store: 100,000 apps are listed every 115 s."""
_APPS_PER_STEP = 100


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

    async def drop() -> None:
        usage.drop_idle()

    return every(min(max(idle_seconds / 4, 0.25), 60.0), drop)


class DirectoryListing:
    """Lists the directory, after each change and every 15 s.

    New tables get their series; the space of deleted ones is reclaimed.
    """

    def __init__(self, directory: Directory, known_tables: KnownTables, reclaimer: Reclaimer) -> None:
        self._directory = directory
        self._known_tables = known_tables
        self._reclaimer = reclaimer

    def start(self) -> Background:
        background = Background(self.step, lambda: _DIRECTORY_SECONDS, report)
        self._directory.on_change = background.wake
        return background

    async def step(self) -> None:
        """List once, then rest, so that many changes in a row do not mean listing without end."""
        rest_seconds = _REST_SECONDS
        try:
            rest_seconds = max(rest_seconds, _REST_SECONDS_PER_APP * await self._note_tables())
            await self._reclaimer.run()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_exception(error)})
        await asyncio.sleep(rest_seconds)

    async def _note_tables(self) -> int:
        """Note every table, in steps that let other tasks run; returns the number of apps."""
        self._known_tables.begin()
        apps = 0
        async for record in self._directory.all():
            for table in record.tables:
                self._known_tables.note(labels_of(record, table))
            apps += 1
            if apps % _APPS_PER_STEP == 0:
                await asyncio.sleep(0)
        self._known_tables.end()
        return apps
