"""Hot reload: applies changed settings to a running replica, and watches the file.

A reload covers everything that operators rotate: `signature`, `control`, `workloads`, `apps`, certificates
and the credentials in a store's url. The rest needs a restart. New sections are checked together with those
that stay. So a file that moves the listener to loopback and switches signatures off is refused, because the
open listener is still the public one (D116). A broken file changes nothing.

A reload has three steps. `prepare` builds new objects in a thread, since 100,000 declared apps take seconds;
it touches nothing in use. `apply` swaps them in on the event loop, between two calls, so that no call sees
old and new together. `release` frees the old objects in a thread, one by one.
"""

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import msgspec
from msgspec import Struct

from backends.background import Background
from backends.clock import Clock
from gateway.config.certificates import UnusableCertificate
from gateway.config.contradictions import find_contradictions
from gateway.config.dangers import warn_of_dangers
from gateway.config.loading import ConfigurationFile
from gateway.config.problems import InvalidConfiguration, Problems
from gateway.config.settings import Settings
from gateway.domain.answers import iso_instant
from gateway.observability.catalogue import RELOAD_SUCCESS_TIME, RELOAD_SUCCESSFUL
from gateway.observability.logs import report_exception
from gateway.observability.metrics import ServiceMetrics
from gateway.replica.stores import Stores

log = logging.getLogger("kvs.reload")

_RELOADED = ("signature", "control", "workloads", "apps")
_STORES = ("store", "counters")
_LOOK_SECONDS = 1.0

_SWITCH_SECONDS = 0.001
"""Longest time for which the thread of a reload may hold the GIL before the event loop gets it (D159)."""


def _nothing() -> None:
    pass


class Prepared(Struct, frozen=True):
    """`apply` takes effect between two calls; afterwards `release` frees the replaced objects in a thread."""

    apply: Callable[[], None]
    release: Callable[[], None] = _nothing


class Reloadable(Protocol):
    """A part of the replica that follows the settings."""

    def prepare(self, settings: Settings) -> Prepared:
        """Builds new objects from settings.

        Runs in a thread, because many declared apps take long: it must not change anything in use.
        """
        ...


class PreparedReload(Struct, frozen=True):
    """The prepared parts together. `apply` returns the changed sections that need a restart."""

    apply: Callable[[], list[str]]
    release: Callable[[], None]


class Reload:
    """Applies changed settings to a running replica.

    `settings` are the current ones without `apps`, which may be many and are kept by the directory.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Sequence[Reloadable],
        stores: Stores,
        *,
        metrics: ServiceMetrics,
        clock: Clock,
    ) -> None:
        self.settings = msgspec.structs.replace(settings, apps=[])
        warn_of_dangers(settings)
        self._parts = parts
        self._stores = stores
        self._clock = clock
        self._succeeded = True
        self._succeeded_at_ms = clock.wall_ms()
        metrics.watch(RELOAD_SUCCESSFUL, lambda: self._succeeded)
        metrics.watch(RELOAD_SUCCESS_TIME, lambda: self._succeeded_at_ms / 1000)

    def describe(self) -> dict[str, object]:
        """Describes the result of the last reload, and the time of the last successful one."""
        return {
            "last_reload_successful": self._succeeded,
            "last_reload_success_at": iso_instant(self._succeeded_at_ms),
        }

    async def run(self, file: ConfigurationFile) -> None:
        """Reads the file and applies it. Mistakes are logged and change nothing."""
        try:
            with _giving_way():
                prepared = await asyncio.to_thread(lambda: self.prepare(file.load()))
                needs_restart = prepared.apply()
                await asyncio.to_thread(prepared.release)
        except InvalidConfiguration as error:
            self._fail(error.report)
        except UnusableCertificate as error:
            self._fail([{"path": error.path, "problem": "cannot be used"}])
        except Exception as error:
            self._succeeded = False
            report_exception(log, error)
        else:
            self._succeeded, self._succeeded_at_ms = True, self._clock.wall_ms()
            log.info("the configuration was reloaded", extra={"fields": {"needs_restart": needs_restart}})

    def prepare(self, read: Settings) -> "PreparedReload":
        """Prepares all parts. Raises InvalidConfiguration or UnusableCertificate.

        Empties the list of apps in `read` one by one, so that other threads can run while 100,000 are freed.
        """
        changes = {section: getattr(read, section) for section in _RELOADED}
        settings = msgspec.structs.replace(self.settings, **changes)
        problems = Problems()
        find_contradictions(settings, problems)
        problems.raise_any()
        parts = [part.prepare(settings) for part in self._parts]
        warn_of_dangers(settings)
        while settings.apps:
            settings.apps.pop()

        def apply() -> list[str]:
            for part in parts:
                part.apply()
            self.settings = settings
            return self._needs_restart(read)

        def release() -> None:
            for part in parts:
                part.release()

        return PreparedReload(apply, release)

    def _needs_restart(self, read: Settings) -> list[str]:
        applied = _STORES if self._stores.apply(read) else ()
        return [
            section
            for section in Settings.__struct_fields__
            if section not in (*_RELOADED, *applied)
            and getattr(read, section) != getattr(self.settings, section)
        ]

    def _fail(self, problems: list[dict[str, str]]) -> None:
        self._succeeded = False
        log.error("the configuration is not reloaded", extra={"fields": {"problems": problems}})


@contextmanager
def _giving_way() -> Iterator[None]:
    """Makes the current reload give way to the event loop, and suspends garbage collection (D159).

    A thread that makes many objects holds the GIL for 5 ms at a time by default, which would delay all calls.
    A collection would traverse all new objects in one pause. Objects that stay are exempt from later
    collections.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(before)


class FileWatch:
    """Reloads after the file has changed, or immediately on `request`.

    It polls, because Kubernetes swaps the links of a mounted volume, which inotify on the file does not
    report. A change counts once two polls, a second apart, see the same marks: a file may be half written at
    the first one (D116).
    """

    def __init__(self, file: ConfigurationFile, reload: Reload) -> None:
        self._file = file
        self._reload = reload
        self._seen = file.marks
        self._is_requested = False
        self._background: Background | None = None

    def start(self) -> Background:
        self._background = Background(
            self.look, lambda: _LOOK_SECONDS, lambda error: report_exception(log, error)
        )
        return self._background

    def request(self) -> None:
        """Reloads now, whether or not the file has changed."""
        self._is_requested = True
        if self._background is not None:
            self._background.wake()

    async def look(self) -> None:
        """Polls the file once."""
        now = self._file.look()
        is_changed = now == self._seen and now != self._file.marks
        if self._is_requested or is_changed:
            self._is_requested = False
            await self._reload.run(self._file)
            now = self._file.marks
        self._seen = now
