"""A changed configuration takes effect without a restart; a broken one changes nothing and is told."""

import asyncio
import logging
import ssl

from backends.clock import Clock
from gateway.app.renewal import Renewal, Renewed
from gateway.config.certificates import ShownCertificate, UnusableCertificate
from gateway.config.loading import ConfigurationFile
from gateway.config.problems import InvalidConfiguration
from gateway.observability.catalogue import RELOAD_SUCCESS_TIME, RELOAD_SUCCESSFUL
from gateway.observability.logs import report_exception
from gateway.observability.metrics import ServiceMetrics

log = logging.getLogger("kvs.reload")

_LOOK_SECONDS = 1.0
"""A file that changed must look the same at two looks: it may be on its way."""


class Reloader:
    """Reads the file again when it has changed, or at once when it is told to."""

    def __init__(
        self,
        file: ConfigurationFile,
        renewal: Renewal,
        certificate: ShownCertificate | None,
        metrics: ServiceMetrics,
        clock: Clock,
    ) -> None:
        self._file = file
        self._renewal = renewal
        self._certificate = certificate
        self._clock = clock
        self._demanded = asyncio.Event()
        self._succeeded = True
        self._succeeded_at_ms = clock.wall_ms()
        metrics.watch(RELOAD_SUCCESSFUL, lambda: self._succeeded)
        metrics.watch(RELOAD_SUCCESS_TIME, lambda: self._succeeded_at_ms / 1000)

    def demand(self) -> None:
        """Read the file now, changed or not."""
        self._demanded.set()

    async def watch(self) -> None:
        """Reload as long as the replica lives."""
        seen = self._file.marks
        while True:
            is_demanded = await self._wait()
            now = self._file.look()
            if is_demanded or (now == seen and now != self._file.marks):
                await self.reload()
                now = self._file.marks
            seen = now

    async def reload(self) -> None:
        """Put in force what is in the file; what is wrong with it is in the log."""
        try:
            restart = self._put_in_force(*await asyncio.to_thread(self._read))
        except InvalidConfiguration as error:
            self._fail(error.report)
        except UnusableCertificate:
            self._fail([{"path": "listen.data.tls", "problem": "cannot be used"}])
        except Exception as fault:
            self._succeeded = False
            report_exception(log, fault)
        else:
            self._succeeded, self._succeeded_at_ms = True, self._clock.wall_ms()
            log.info("the configuration was reloaded", extra={"fields": {"needs_restart": restart}})

    def _read(self) -> tuple[Renewed, ssl.SSLContext | None]:
        """In a thread: a file with many apps takes long."""
        renewed = self._renewal.prepare(self._file.load())
        return renewed, None if self._certificate is None else self._certificate.read()

    def _put_in_force(self, renewed: Renewed, shown: ssl.SSLContext | None) -> list[str]:
        if self._certificate is not None and shown is not None:
            self._certificate.show(shown)
        return self._renewal.put_in_force(renewed)

    def _fail(self, problems: list[dict[str, str]]) -> None:
        self._succeeded = False
        log.error("the configuration is not reloaded", extra={"fields": {"problems": problems}})

    async def _wait(self) -> bool:
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._demanded.wait()
        except TimeoutError:
            return False
        self._demanded.clear()
        return True
