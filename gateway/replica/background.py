"""What a replica does beside serving: ask its stores, follow the directory, drop what is idle."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from backends.errors import BackendError
from gateway.app import App
from gateway.directory.records import labels_of
from gateway.observability.logs import describe_exception, report_exception

log = logging.getLogger("kvs.housekeeping")

_HEALTH_SECONDS = 1.0
_DIRECTORY_SECONDS = 15.0
_PAUSE_SECONDS = 0.5
_PAUSE_SECONDS_PER_APP = 0.001
"""Listing a large directory costs CPU and calls of the store: 100,000 apps are listed every 115 s."""
_APPS_PER_STEP = 100


def chores(app: App) -> list[Coroutine[None, None, None]]:
    """Everything that runs until the replica ends."""
    return [
        _repeat(app.health.check, _HEALTH_SECONDS),
        _keep_directory(app),
        _repeat(_drop_idle(app), _idle_check_seconds(app)),
    ]


async def _keep_directory(app: App) -> None:
    """Let new tables' series stand and reclaim deleted tables' space, on every change and in between."""
    while True:
        app.directory.changed.clear()
        pause_seconds = _PAUSE_SECONDS
        try:
            pause_seconds = max(pause_seconds, _PAUSE_SECONDS_PER_APP * await _note_tables(app))
            await app.reclaimer.run()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_exception(error)})
        except Exception as fault:
            report_exception(log, fault)
        await asyncio.sleep(pause_seconds)
        try:
            async with asyncio.timeout(_DIRECTORY_SECONDS):
                await app.directory.changed.wait()
        except TimeoutError:
            continue


async def _note_tables(app: App) -> int:
    """Note every table of the directory, in steps that let the loop breathe; how many apps there are."""
    app.known_tables.begin()
    apps = 0
    async for record in app.directory.all():
        for table in record.tables:
            app.known_tables.note(labels_of(record, table))
        apps += 1
        if apps % _APPS_PER_STEP == 0:
            await asyncio.sleep(0)
    app.known_tables.end()
    return apps


def _drop_idle(app: App) -> Callable[[], Awaitable[None]]:
    async def drop() -> None:
        app.usage.drop_idle()

    return drop


def _idle_check_seconds(app: App) -> float:
    return min(max(app.settings.metering.idle_seconds / 4, 0.25), 60.0)


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    while True:
        try:
            await work()
        except Exception as fault:
            report_exception(log, fault)
        await asyncio.sleep(seconds)
