"""Hot reload: what may change while the replica runs, how it is applied, and when the file is read again.

`signature`, `control`, `workloads`, `apps`, certificates and the credentials in a store's url are what an
operator rotates. Everything else needs a restart. The new parts are checked together with the settings that
stay: a file that moves the listener to loopback and switches signatures off is refused, because what listens
was opened before (D76). A file that is broken changes nothing.
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
"""How long the thread that reads many apps may keep the interpreter from the event loop (D159)."""


def _nothing() -> None:
    pass


class Prepared(Struct, frozen=True):
    """`apply` takes effect between two calls; then `release` gives back, in a thread, what was replaced."""

    apply: Callable[[], None]
    release: Callable[[], None] = _nothing


class Reloadable(Protocol):
    """What follows the settings."""

    def prepare(self, settings: Settings) -> Prepared:
        """Build what these settings ask for.

        Runs in a thread, as many declared apps take long: it changes nothing that is in use.
        """
        ...


class PreparedReload(Struct, frozen=True):
    """All parts together; `apply` tells which sections differ and need a restart."""

    apply: Callable[[], list[str]]
    release: Callable[[], None]


class Reload:
    """Applies changed settings to a running replica. `settings` are those in use, but for the apps.

    Apps are many, and what was made of them is in the directory.
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
        """Whether the last reload succeeded, and since when the settings are in use."""
        return {
            "last_reload_successful": self._succeeded,
            "last_reload_success_at": iso_instant(self._succeeded_at_ms),
        }

    async def run(self, file: ConfigurationFile) -> None:
        """Read the file and apply it. Its mistakes are logged and change nothing."""
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
        """What applies the settings. Raises InvalidConfiguration or UnusableCertificate.

        The list of apps in `read` is used up: it is given back one by one, so that nobody waits for that.
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
    """While a thread makes many objects it often gives way to the event loop, nothing is collected (D159).

    A collection would look at all of them at once. What has come to stay is exempt from later ones (D130).
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
    """Reloads after the file has changed, or at once on `request`.

    It polls: a mounted volume of Kubernetes swaps links, which no inotify watch on the file itself reports.
    A change must look the same twice, a second apart, as a file may be read while it is being written (D77).
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
        """Reload now, whether or not the file has changed."""
        self._is_requested = True
        if self._background is not None:
            self._background.wake()

    async def look(self) -> None:
        """Look once."""
        now = self._file.look()
        is_changed = now == self._seen and now != self._file.marks
        if self._is_requested or is_changed:
            self._is_requested = False
            await self._reload.run(self._file)
            now = self._file.marks
        self._seen = now
