"""Composes the credentials plane, and the issuer of session credentials."""

import logging

from backends.clock import Clock
from gateway.composition.shared import Shared
from gateway.config.hosts import accepted_hosts
from gateway.config.settings import CredentialsListener, Settings, SignatureSettings
from gateway.credentials.keyring import ApprovedRoles
from gateway.credentials.session import Issuer, SessionCredentials
from gateway.credentialsplane.budgets import Budgets
from gateway.credentialsplane.container import Container
from gateway.credentialsplane.handler import CredentialsHandler
from gateway.credentialsplane.web_identity import WebIdentity
from gateway.credentialsplane.workloads import Exchange, Workloads
from gateway.http.service import Service
from gateway.observability import catalogue
from gateway.replica.reload import Prepared

log = logging.getLogger("kvs.app")


class CredentialsPlane:
    """Session credentials for authenticated workloads."""

    def __init__(self, shared: Shared) -> None:
        settings, clock = shared.settings, shared.clock
        listener = settings.listen.credentials or CredentialsListener()
        self._clock, self._issuers = clock, shared.issuers
        workloads = Workloads(settings.workloads, self._issuers, clock)
        self._issuers.use("credentials", workloads.keys)
        self._exchange = Exchange(workloads, issuer_of(settings.signature, clock))
        if settings.listen.credentials and not settings.workloads:
            log.warning("workloads is empty: the credentials listener refuses every request")
        self.handler = CredentialsHandler(
            {
                b"/": WebIdentity(self._exchange, shared.edge),
                b"/v1/credentials/container": Container(self._exchange),
            },
            Budgets(listener.requests_per_minute_per_address, clock),
            accepted_hosts(listener, "listen.credentials.hosts"),
        )
        self.service = Service(
            shared.turns.lane().paced(self.handler.handle),
            shared.edge,
            clock,
            is_draining=shared.drain.begun.is_set,
            fence=shared.fence,
            handshakes=shared.turns.handshakes,
        )
        shared.metrics.watch_all(catalogue.CREDENTIALS_REQUESTS, lambda: self.handler.counted)

    def prepare(self, settings: Settings) -> Prepared:
        """Builds the workloads and the issuer of their credentials."""
        workloads = Workloads(settings.workloads, self._issuers, self._clock)
        issuer = issuer_of(settings.signature, self._clock)

        def apply() -> None:
            self._issuers.use("credentials", workloads.keys)
            self._exchange.replace(workloads, issuer)

        return Prepared(apply)


def issuer_of(settings: SignatureSettings, clock: Clock) -> Issuer:
    """Builds the issuer of session credentials; without master keys it issues none."""
    session = settings.credentials.session
    return Issuer(
        sessions=None if session is None else SessionCredentials(session.master_keys, clock),
        roles=ApprovedRoles(settings.approved_roles, settings.denied_roles),
        max_ttl_seconds=0 if session is None else session.max_ttl_seconds,
    )
