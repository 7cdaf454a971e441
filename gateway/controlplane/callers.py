"""The call that shows a caller its own identity and permissions."""

from typing import Any

from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.identity.permissions import Identity


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
