"""The calls that show a caller its identity and the health of the replica."""

import socket
from collections.abc import Callable, Mapping
from typing import Any

from gateway import __version__
from gateway.controlplane.errors import InvalidField
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.domain.answers import iso_instant
from gateway.identity.permissions import Identity

HealthReport = Callable[[], Mapping[str, object]]
"""Returns the current state: status, dependencies, clocks, the last reload."""


class CallerRoutes:
    """Shows callers their identity."""

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(r"/v1/whoami", {"GET": Action("caller.show", None, self.whoami)})]

    async def whoami(self, call: ControlCall) -> CallResult:
        return CallResult(200, describe(call.caller))


def describe(caller: Identity) -> dict[str, Any]:
    """Describes a caller: the union of its permissions, and each grant by itself."""
    grants = [
        {"allow": Identity("", (grant,)).allow, "orgs": grant.orgs.patterns, "apps": grant.apps.patterns}
        for grant in caller.grants
    ]
    return {
        "name": caller.name,
        "issuer": caller.issuer,
        "allow": caller.allow,
        "orgs": caller.orgs,
        "apps": caller.apps,
        "grants": grants,
    }


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
            raise InvalidField("unknown_parameter", "this call takes no query parameters")
        return CallResult(200, {**self._report(), **self._constant})
