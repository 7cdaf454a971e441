"""Hot reload: what may change while the replica runs, how it is applied, and when the file is read again.

`signature`, `control`, `apps`, the certificate and the credentials in a store's url are what an operator
rotates. Everything else needs a restart. The new parts are checked together with the settings that stay: a
file that moves the listener to loopback and switches signatures off is refused, because what listens was
opened before (D76). A file that is broken changes nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from backends.background import Background
from backends.clock import Clock
from gateway.config.certificates import UnusableCertificate
from gateway.config.contradictions import find_contradictions
from gateway.config.dangers import warn_of_dangers
from gateway.config.loading import ConfigurationFile
from gateway.config.problems import InvalidConfiguration, Problems
from gateway.config.settings import Settings
from gateway.observability.catalogue import RELOAD_SUCCESS_TIME, RELOAD_SUCCESSFUL
from gateway.observability.logs import report_exception
from gateway.observability.metrics import ServiceMetrics
from gateway.replica.stores import Stores

log = logging.getLogger("kvs.reload")

_RELOADED = ("signature", "control", "apps")
_STORES = ("store", "counters")
_LOOK_SECONDS = 1.0

Apply = Callable[[], None]


class Part(Protocol):
    """What follows the settings."""

    def prepare(self, settings: Settings) -> Apply:
        """Build what these settings ask for, for the returned function to apply between two calls.

        Runs in a thread, as many declared apps take long: it changes nothing that is in use.
        """
        ...


class Reload:
    """Applies changed settings to a running replica. `settings` are those in use."""

    def __init__(
        self,
        settings: Settings,
        parts: Sequence[Part],
        stores: Stores,
        *,
        metrics: ServiceMetrics,
        clock: Clock,
    ) -> None:
        self._use(settings)
        self._parts = parts
        self._stores = stores
        self._clock = clock
        self._succeeded = True
        self._succeeded_at_ms = clock.wall_ms()
        metrics.watch(RELOAD_SUCCESSFUL, lambda: self._succeeded)
        metrics.watch(RELOAD_SUCCESS_TIME, lambda: self._succeeded_at_ms / 1000)

    async def run(self, file: ConfigurationFile) -> None:
        """Read the file and apply it. Its mistakes are logged and change nothing."""
        try:
            apply = await asyncio.to_thread(lambda: self.prepare(file.load()))
            needs_restart = apply()
        except InvalidConfiguration as error:
            self._fail(error.report)
        except UnusableCertificate:
            self._fail([{"path": "listen.data.tls", "problem": "cannot be used"}])
        except Exception as error:
            self._succeeded = False
            report_exception(log, error)
        else:
            self._succeeded, self._succeeded_at_ms = True, self._clock.wall_ms()
            log.info("the configuration was reloaded", extra={"fields": {"needs_restart": needs_restart}})

    def prepare(self, read: Settings) -> Callable[[], list[str]]:
        """Returns what applies the settings and tells which sections differ and need a restart.

        Raises InvalidConfiguration or UnusableCertificate.
        """
        changes = {section: getattr(read, section) for section in _RELOADED}
        settings = msgspec.structs.replace(self.settings, **changes)
        problems = Problems()
        find_contradictions(settings, problems)
        problems.raise_any()
        prepared = [part.prepare(settings) for part in self._parts]

        def apply() -> list[str]:
            for apply_part in prepared:
                apply_part()
            self._use(settings)
            return self._needs_restart(read)

        return apply

    def _use(self, settings: Settings) -> None:
        self.settings = settings
        warn_of_dangers(settings)

    def _needs_restart(self, read: Settings) -> list[str]:
        applied = _STORES if self._stores.apply(read) else ()
        return [
            section
            for section in Settings.__struct_fields__
            if section not in applied and getattr(read, section) != getattr(self.settings, section)
        ]

    def _fail(self, problems: list[dict[str, str]]) -> None:
        self._succeeded = False
        log.error("the configuration is not reloaded", extra={"fields": {"problems": problems}})


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
