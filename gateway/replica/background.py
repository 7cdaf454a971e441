"""Background loops: health checks, chores of the directory, keys of issuers, idle rows of usage."""

import asyncio
import logging
import os
import stat
from collections.abc import Awaitable, Callable

from backends.background import Background
from backends.errors import BackendError
from gateway.config.settings import is_url
from gateway.directory.parts import DirectoryParts
from gateway.directory.reclaim.sweeper import LOOK_SECONDS
from gateway.http.client import FetchError, fetch
from gateway.http.fence import Fence
from gateway.identity.issuer_keys import FetchFailed
from gateway.identity.issuers import Issuers
from gateway.identity.keys import MOST_BYTES
from gateway.observability.logs import describe_exception, report_exception
from gateway.observability.usage import Usage
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.background")

StartTask = Callable[[], Background]
"""Starts a background loop that runs until it is closed."""

_HEALTH_SECONDS = 1.0
_REGISTER_SECONDS = 15.0
_KEYS_SECONDS = 1.0
_SCAN_SECONDS = 60.0
_RECLAIM_REST_SECONDS = 0.5
_FETCH_SECONDS = 10.0


def every(seconds: float, step: Callable[[], Awaitable[None]]) -> StartTask:
    """Repeats a step, with a pause after each repetition."""
    return lambda: Background(step, lambda: seconds, report)


def report(error: Exception) -> None:
    """Logs a failed step. The loop continues with the next."""
    report_exception(log, error)


def health_checks(health: Health) -> StartTask:
    """Pings every store."""
    return every(_HEALTH_SECONDS, health.check)


def fetching_keys(issuers: Issuers) -> StartTask:
    """Fetches the issuers' keys that are due."""
    return every(_KEYS_SECONDS, issuers.refresh)


def beating(fence: Fence) -> StartTask:
    """Beats, so that a standstill of this process is noticed."""
    return every(0.0, fence.beat_on)


def dropping_idle_rows(usage: Usage, idle_seconds: float) -> StartTask:
    """Drops idle usage rows, at most a quarter of their idle time late."""
    return every(min(max(idle_seconds / 4, 0.25), 60.0), usage.drop_idle)


def directory_chores(directory: DirectoryParts) -> list[StartTask]:
    """Chores of the directory, each in a loop of its own."""
    return [
        _follow_feed(directory),
        _register_retention(directory),
        _find_corrupt_records(directory),
        _reclaim(directory),
        every(LOOK_SECONDS, directory.sweeper.run),
    ]


def _follow_feed(directory: DirectoryParts) -> StartTask:
    """Polls the feed of changes, and sooner after a failed poll."""
    feed = directory.feed
    return lambda: Background(feed.follow, lambda: feed.pause_seconds, report)


def _register_retention(directory: DirectoryParts) -> StartTask:
    """Registers the retention of this replica. Once it is registered, a step costs nothing."""
    return every(_REGISTER_SECONDS, _with_the_directory(directory.retention.register))


def _find_corrupt_records(directory: DirectoryParts) -> StartTask:
    """Looks for corrupt records among the next few apps."""
    return every(_SCAN_SECONDS, _with_the_directory(directory.corrupt.scan))


def _reclaim(directory: DirectoryParts) -> StartTask:
    """Reclaims the space of deleted tables, and begins as soon as the feed announces an intent."""
    reclaimer = directory.reclaimer

    def start() -> Background:
        background = Background(
            reclaimer.run, lambda: reclaimer.pause_seconds, report, cooldown=lambda: _RECLAIM_REST_SECONDS
        )
        directory.feed.wake_on_intent(background.wake)
        return background

    return start


def _with_the_directory(step: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Wraps a step so that a failure of the directory's store is only logged; the loop repeats the step."""

    async def run() -> None:
        try:
            await step()
        except BackendError as error:
            log.warning("the directory cannot be read", extra={"fields": describe_exception(error)})

    return run


async def fetch_keys(source: str) -> bytes:
    """Fetches a JWKS from a URL or a file, bounded in size and time. Raises FetchFailed."""
    if not is_url(source):
        return await asyncio.to_thread(_read, source)
    try:
        async with asyncio.timeout(_FETCH_SECONDS):
            return await fetch(source, max_bytes=MOST_BYTES)
    except FetchError as error:
        raise FetchFailed(f"the server {error}") from None
    except TimeoutError:
        raise FetchFailed(f"the server does not answer within {_FETCH_SECONDS:.0f} s") from None


def _read(file: str) -> bytes:
    """Reads a regular file. Anything else is refused: reading a pipe would block."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise FetchFailed("it is not a regular file")
            return opened.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise FetchFailed("the file cannot be read") from None
