"""Layer 1 as the section `signature:` configures it."""

import logging
from ipaddress import ip_network

from backends.clock import Clock
from gateway.config.settings import Settings, TrustedProxySettings
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import SessionCredentials
from gateway.credentials.trusted_proxy import TrustedProxy
from gateway.dataplane.policies.caller import CallerPolicy, SignaturePolicy, Unsigned
from gateway.domain.model import Caller
from gateway.sigv4 import SignatureRules
from gateway.sigv4.verification import strip_default_port

log = logging.getLogger("kvs.app")


def caller_policy(settings: Settings, clock: Clock) -> CallerPolicy:
    """Who calls is proved by signature or by a trusted proxy, or not at all."""
    signature = settings.signature
    if signature.mode == "off":
        log.warning("signature.mode is off: anyone who reaches the data listener is a caller")
        return Unsigned()
    static = {
        credential.access_key_id: AccessKey(credential.secret_access_key.encode(), Caller(credential.role))
        for credential in signature.credentials.static
    }
    session = signature.credentials.session
    return SignaturePolicy(
        rules=SignatureRules(
            region=settings.region,
            skew_seconds=signature.clock_skew_seconds,
            public_hosts=frozenset(strip_default_port(host.lower()) for host in settings.public_hosts),
        ),
        keyring=Keyring(static, None if session is None else SessionCredentials(session.master_keys, clock)),
        roles=ApprovedRoles(signature.approved_roles),
        proxy=_proxy(signature.credentials.trusted_proxy),
        clock=clock,
    )


def _proxy(settings: TrustedProxySettings | None) -> TrustedProxy | None:
    if settings is None:
        return None
    return TrustedProxy(
        caller_header=settings.caller_header.lower().encode(),
        secret_header=settings.secret_header.lower().encode(),
        secret=None if settings.secret is None else settings.secret.encode(),
        networks=[ip_network(network) for network in settings.networks],
    )
