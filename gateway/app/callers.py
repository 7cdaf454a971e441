"""Who may call and how they prove it: everything that `signature:` configures."""

import logging
from ipaddress import ip_network

from msgspec import Struct

from backends.clock import Clock
from gateway.config.settings import Settings
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import Issuer, SessionCredentials
from gateway.credentials.trusted_proxy import TrustedProxy
from gateway.dataplane.policies.caller import CallerPolicy, SignaturePolicy, Unsigned
from gateway.domain.model import Caller
from gateway.sigv4 import SignatureRules
from gateway.sigv4.verification import strip_default_port

log = logging.getLogger("kvs.app")


class Callers(Struct, frozen=True):
    """Who verifies callers, and who issues credentials to them."""

    policy: CallerPolicy
    issuer: Issuer


def build_callers(settings: Settings, clock: Clock) -> Callers:
    """Both, on the same master keys and the same approved roles."""
    session = settings.signature.credentials.session
    sessions = None if session is None else SessionCredentials(session.master_keys, clock)
    roles = ApprovedRoles(settings.signature.approved_roles)
    return Callers(
        policy=_policy(settings, clock, roles, sessions),
        issuer=Issuer(sessions, roles, 0 if session is None else session.max_ttl_seconds),
    )


def _policy(
    settings: Settings, clock: Clock, roles: ApprovedRoles, sessions: SessionCredentials | None
) -> CallerPolicy:
    signature = settings.signature
    if signature.mode == "off":
        log.warning("signature.mode is off: anyone who reaches the data listener is a caller")
        return Unsigned()
    static = {
        credential.access_key_id: AccessKey(credential.secret_access_key.encode(), Caller(credential.role))
        for credential in signature.credentials.static
    }
    return SignaturePolicy(
        rules=SignatureRules(
            region=settings.region,
            skew_seconds=signature.clock_skew_seconds,
            public_hosts=frozenset(strip_default_port(host.lower()) for host in settings.public_hosts),
        ),
        keyring=Keyring(static, sessions),
        roles=roles,
        proxy=_proxy(settings),
        clock=clock,
    )


def _proxy(settings: Settings) -> TrustedProxy | None:
    proxy = settings.signature.credentials.trusted_proxy
    if proxy is None:
        return None
    return TrustedProxy(
        caller_header=proxy.caller_header.lower().encode(),
        secret_header=proxy.secret_header.lower().encode(),
        secret=None if proxy.secret is None else proxy.secret.encode(),
        networks=[ip_network(network) for network in proxy.networks],
    )
