"""Who may call: the bearers that the settings name; and the call that tells a caller who it is."""

from typing import Any

from gateway.config.settings import ControlSettings
from gateway.controlplane.calls import Action, ControlCall, Done, Routes
from gateway.identity.control_tokens import ControlTokens
from gateway.identity.permissions import Identity, grant_of


def control_tokens_of(settings: ControlSettings) -> ControlTokens:
    """The bearers that the settings name; that of a plain token may do everything."""
    return ControlTokens([
        (each.token, Identity(each.name, (grant_of(each.allow, each.orgs, each.apps),)))
        for each in settings.bearers
    ])  # fmt: skip


class CallerCalls:
    """Tell callers who they are."""

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(r"/v1/whoami", {"GET": Action("caller.show", None, self.whoami)})]

    async def whoami(self, call: ControlCall) -> Done:
        return Done(200, describe(call.caller))


def describe(caller: Identity) -> dict[str, Any]:
    """The caller as the control plane shows it: all together, and each grant for itself."""
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
