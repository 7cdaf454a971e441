"""Shows signed-in callers the health of the replica that serves them, as the ops listener reports it."""

import socket
from collections.abc import Callable, Mapping

from gateway import __version__
from gateway.controlplane.errors import InvalidField
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.domain.answers import iso_instant

HealthReport = Callable[[], Mapping[str, object]]
"""Returns the current state: status, dependencies, clocks, the last reload."""


class HealthRoutes:
    """Shows the health of the replica."""

    def __init__(self, region: str, started_at_ms: int, report: HealthReport) -> None:
        self._report = report
        self._constant = {
            "version": __version__,
            "region": region,
            "replica": socket.gethostname(),
            "started_at": iso_instant(started_at_ms),
        }

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(r"/v1/health", {"GET": Action("health.show", "read", self.show)})]

    async def show(self, call: ControlCall) -> CallResult:
        if call.query:
            raise InvalidField("unknown_parameter", "this call has no parameters")
        return CallResult(200, {**self._report(), **self._constant})
