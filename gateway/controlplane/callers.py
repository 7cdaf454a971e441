"""Who may call, by name or by an issuer's word; and the call that tells a caller who it is."""

from typing import Any

from backends.clock import Clock
from gateway.config.settings import ControlSettings
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.identity.callers import Callers, Rule, identify_by
from gateway.identity.control_tokens import ControlTokens
from gateway.identity.issuers import Issuers
from gateway.identity.permissions import Identity, grant_of
from gateway.identity.web_tokens import TrustedIssuer, WebTokens


def control_tokens_of(settings: ControlSettings) -> ControlTokens:
    """The bearers that the settings name; that of a plain token may do everything."""
    return ControlTokens([
        (each.token, Identity(each.name, (grant_of(each.allow, each.orgs, each.apps),)))
        for each in settings.bearers
    ])  # fmt: skip


def callers_of(settings: ControlSettings, issuers: Issuers, clock: Clock) -> Callers:
    """All who may call, as the settings say; the keys are among those of `issuers`, if they are known."""
    trusted = {
        each.issuer: TrustedIssuer(each.issuer, each.audience, issuers.keys_at(each.issuer, each.jwks))
        for each in settings.oidc
    }
    rules = {
        each.issuer: [
            Rule(rule.claim, rule.value, grant_of(rule.allow, rule.orgs, rule.apps)) for rule in each.rules
        ]
        for each in settings.oidc
    }
    web_tokens = WebTokens(trusted, lambda claims: identify_by(rules[claims.issuer], claims), clock)
    return Callers(control_tokens_of(settings), web_tokens)


class CallerRoutes:
    """HealthReport callers who they are."""

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [(r"/v1/whoami", {"GET": Action("caller.show", None, self.whoami)})]

    async def whoami(self, call: ControlCall) -> CallResult:
        return CallResult(200, describe(call.caller))


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
