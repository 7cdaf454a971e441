"""Composes the control plane: its calls, its callers, the console and the issuer of session credentials."""

import logging

from backends.clock import Clock
from gateway.composition.credentials import issuer_of
from gateway.composition.shared import Shared
from gateway.config.callers import secrets_of
from gateway.config.hosts import accepted_hosts
from gateway.config.settings import ControlSettings, Settings
from gateway.controlplane.about import CallerRoutes, HealthReport, HealthRoutes
from gateway.controlplane.apps import AppRoutes, TableRoutes
from gateway.controlplane.console import PublicHandler, read_files
from gateway.controlplane.credentials import CredentialRoutes
from gateway.controlplane.cursors import CursorCipher, cursor_key
from gateway.controlplane.handler import ControlHandler
from gateway.controlplane.lists import ListRoutes
from gateway.controlplane.runtime import Runtime
from gateway.controlplane.sign_in import SignIn, SignInIssuer, origin_of
from gateway.controlplane.stats import StatsRoutes
from gateway.controlplane.upgrades import UpgradeRoutes
from gateway.controlplane.usage import UsageRoutes
from gateway.directory.parts import DirectoryParts
from gateway.http.service import Service
from gateway.identity.callers import Callers, ControlTokens, Rule, identify_by
from gateway.identity.issuers import Issuers
from gateway.identity.permissions import Identity, grant_of
from gateway.identity.web_tokens import TrustedIssuer, WebTokens
from gateway.observability import catalogue
from gateway.replica.reload import Prepared

log = logging.getLogger("kvs.app")


class ControlPlane:
    """Apps, tables and credentials, for callers with a control token or a JWT."""

    def __init__(self, shared: Shared, directory: DirectoryParts, health_report: HealthReport) -> None:
        settings, clock, tenants = shared.settings, shared.clock, directory.directory
        self._clock, self._issuers = clock, shared.issuers
        runtime = runtime_of(settings)
        self._credentials = CredentialRoutes(issuer_of(settings.signature, clock))
        self._lists = ListRoutes(directory.pages, runtime, cursor_cipher(settings))
        routes = [
            *TableRoutes(tenants, runtime, settings.directory.rotation_overlap_seconds).routes,
            *StatsRoutes(tenants, shared.stores.tables, clock, settings.limits.app_bytes).routes,
            *AppRoutes(tenants, runtime).routes,
            *UpgradeRoutes(tenants, shared.stores.tables, clock).routes,
            *self._lists.routes,
            *self._credentials.routes,
            *CallerRoutes().routes,
            *HealthRoutes(settings.region, clock.wall_ms(), health_report).routes,
            *UsageRoutes(settings.console, tenants, runtime, clock).routes,
        ]
        if not settings.control.tokens and not settings.control.oidc:
            log.warning("control.tokens is empty: the control plane refuses every call")
        callers = callers_of(settings.control, self._issuers, clock)
        self._issuers.use("control", callers.web_tokens.keys)
        hosts = accepted_hosts(settings.listen.control, "listen.control.hosts")
        self.handler = ControlHandler(callers=callers, routes=routes, settings=shared.edge, hosts=hosts)
        files = read_files() if settings.console.enabled else None
        self.public = PublicHandler(files, sign_in_of(settings.control), hosts, self.handler.handle)
        turns = shared.turns
        self.service = Service(
            turns.lane().paced(self.public.handle),
            shared.edge,
            clock,
            fence=shared.fence,
            handshakes=turns.handshakes,
        )
        shared.metrics.watch_all(
            catalogue.CONTROL_REQUESTS, lambda: {**self.handler.counted, **self.public.counted}
        )
        shared.metrics.watch_labelled(catalogue.CONTROL_TOKEN_REQUESTS, lambda: self.handler.uses)

    def prepare(self, settings: Settings) -> Prepared:
        """Builds the callers, the issuer of session credentials, and the cipher of page cursors."""
        callers = callers_of(settings.control, self._issuers, self._clock)
        issuer, cursors = issuer_of(settings.signature, self._clock), cursor_cipher(settings)
        sign_in = sign_in_of(settings.control)

        def apply() -> None:
            self._issuers.use("control", callers.web_tokens.keys)
            self.handler.replace_callers(callers)
            self.public.replace_sign_in(sign_in)
            self._lists.replace_cipher(cursors)
            self._credentials.replace_issuer(issuer)

        return Prepared(apply)


def callers_of(settings: ControlSettings, issuers: Issuers, clock: Clock) -> Callers:
    """Builds the callers: control tokens, and people who sign in at OIDC issuers, whose keys are shared."""
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
    named = [
        (each.token, Identity(each.name, (grant_of(each.allow, each.orgs, each.apps),)))
        for each in settings.bearers
    ]
    return Callers(ControlTokens(named), web_tokens)


def cursor_cipher(settings: Settings) -> CursorCipher:
    """Builds the cipher of page cursors. Replicas with the same secrets accept each other's cursors."""
    secrets = [bearer.token for bearer in settings.control.bearers]
    secrets += [secret for _, secret in secrets_of(settings.signature.credentials)]
    return CursorCipher(cursor_key(secrets))


def runtime_of(settings: Settings) -> Runtime:
    return Runtime(
        public_url=settings.public_url,
        region=settings.region,
        variable_prefix=settings.runtime.variable_prefix,
        default_limit=settings.rate_limit.requests_per_minute,
        default_max_tables=settings.directory.max_tables,
        default_max_bytes=settings.limits.app_bytes,
    )


def sign_in_of(settings: ControlSettings) -> SignIn:
    """Lists the issuers whose pages a browser can open. Others are trusted, but not offered for sign-in."""
    found = [(each, origin) for each in settings.oidc if (origin := origin_of(each.issuer))]
    issuers = tuple(SignInIssuer(each.issuer, each.client_id or each.audience) for each, _ in found)
    return SignIn(issuers, tuple(dict.fromkeys(origin for _, origin in found)))
