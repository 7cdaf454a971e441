"""The health of the replica that answers, for signed-in callers: what the ops listener tells its network."""

import socket
from collections.abc import Callable, Mapping

from gateway import __version__
from gateway.controlplane.errors import InvalidField
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.domain.answers import iso_instant

HealthReport = Callable[[], Mapping[str, object]]
"""Tells the state of now: status, dependencies, clocks, the last reload."""


class HealthRoutes:
    """Show how the replica is. What it is stays the same as long as it runs."""

    def __init__(self, region: str, started_at_ms: int, tell: HealthReport) -> None:
        self._tell = tell
        self._same = {
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
        return CallResult(200, {**self._tell(), **self._same})
