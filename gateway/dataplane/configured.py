"""The policies that the settings ask for."""

import logging

from backends.clock import Clock
from backends.interface import WindowCounter
from gateway.config.settings import Settings, TrustedProxySettings
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.networks import Networks
from gateway.credentials.session import SessionCredentials
from gateway.credentials.trusted_proxy import TrustedProxy
from gateway.dataplane.policies.binding import Bindings, TableTokenPolicy
from gateway.dataplane.policies.caller import CallerPolicy, SignaturePolicy, Unsigned
from gateway.dataplane.policies.rate_limit import ExactRateLimiter, LenientRateLimiter, RateLimiter
from gateway.domain.model import Caller
from gateway.sigv4 import SignatureRules
from gateway.sigv4.verification import strip_default_port

log = logging.getLogger("kvs.app")


def caller_policy(settings: Settings, clock: Clock) -> CallerPolicy:
    """Layer 1: a signature or a trusted proxy proves who calls, or nothing has to."""
    signature = settings.signature
    if signature.mode == "off":
        log.warning("signature.mode is off: anyone who reaches the data listener is a caller")
        return Unsigned()
    static = {
        credential.access_key_id: AccessKey(
            credential.secret_access_key.encode(), Caller(credential.role, None, credential.access_key_id)
        )
        for credential in signature.credentials.static
    }
    session = signature.credentials.session
    sessions = None if session is None else SessionCredentials(session.master_keys, clock)
    return SignaturePolicy(
        rules=SignatureRules(
            region=settings.region,
            skew_seconds=signature.clock_skew_seconds,
            public_hosts=frozenset(strip_default_port(host.lower()) for host in settings.public_hosts),
        ),
        keyring=Keyring(static, sessions, frozenset(signature.denied_access_keys)),
        roles=ApprovedRoles(signature.approved_roles, signature.denied_roles),
        proxy=_proxy(signature.credentials.trusted_proxy),
        denied_peers=Networks(signature.denied_networks),
        clock=clock,
    )


def token_policy(settings: Settings, bindings: Bindings) -> TableTokenPolicy:
    """Layer 2; without layer 1, `Authorization` may carry the token, too."""
    is_unsigned = settings.signature.mode == "off"
    return TableTokenPolicy.for_development(bindings) if is_unsigned else TableTokenPolicy(bindings)


def rate_limit(settings: Settings, counters: WindowCounter, clock: Clock) -> RateLimiter:
    """The exact limit, which refuses or admits while its counters are unavailable."""
    strict = ExactRateLimiter(counters, clock.monotonic_ms, tells=settings.rate_limit.headers)
    return LenientRateLimiter(strict) if settings.rate_limit.on_failure == "allow" else strict


def _proxy(settings: TrustedProxySettings | None) -> TrustedProxy | None:
    if settings is None:
        return None
    return TrustedProxy(
        caller_header=settings.caller_header.lower().encode(),
        secret_header=settings.secret_header.lower().encode(),
        secrets=[secret.encode() for secret in settings.secrets],
        networks=Networks(settings.networks),
    )
