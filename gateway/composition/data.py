"""Composes the data plane: the policies of layers 1 and 2, the rate limit, the meter and the store."""

import logging

from backends.clock import Clock
from gateway.composition.shared import Shared, milliseconds
from gateway.config.hosts import hosts_of_calls
from gateway.config.settings import Settings, TrustedProxySettings
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import SessionCredentials
from gateway.credentials.trusted_proxy import Networks, TrustedProxy
from gateway.dataplane.access_log import AccessLog
from gateway.dataplane.handler import DataHandler
from gateway.dataplane.metering import meter_of
from gateway.dataplane.pipeline import Pipeline
from gateway.dataplane.policies.binding import Bindings, TableTokenPolicy
from gateway.dataplane.policies.caller import AtHosts, CallerPolicy, SignaturePolicy, Unsigned
from gateway.dataplane.policies.rate_limit import RateLimitPolicy
from gateway.dataplane.steps import Steps
from gateway.dataplane.tracing import trace_handler, trace_meter
from gateway.directory.resolve.bindings import CachedBindings
from gateway.domain.model import Caller
from gateway.http.service import Service
from gateway.observability import catalogue
from gateway.observability.storage_limits import StorageLimitRefusals
from gateway.observability.usage import Usage
from gateway.replica.reload import Prepared
from gateway.sigv4 import SignatureRules
from gateway.sigv4.verification import strip_default_port

log = logging.getLogger("kvs.app")


class DataPlane:
    """The calls of tables. A reload replaces the policies of layers 1 and 2."""

    def __init__(self, shared: Shared, bindings: CachedBindings) -> None:
        settings, clock = shared.settings, shared.clock
        self._clock, self._bindings = clock, bindings
        self.usage = Usage(
            max_series=settings.metering.max_series,
            idle_ms=milliseconds(settings.metering.idle_seconds),
            first_sample_ms=milliseconds(settings.metering.first_sample_seconds),
            now_ms=clock.monotonic_ms,
            is_draining=shared.drain.begun.is_set,
        )
        rate_limit = RateLimitPolicy(clock.monotonic_ms, exposes_headers=settings.rate_limit.headers)
        limited = StorageLimitRefusals()
        self.pipeline = Pipeline(
            signature=caller_policy(settings, clock),
            table_token=token_policy(settings, bindings),
            open_meter=trace_meter(meter_of(self.usage), shared.traces),
            rate_limit=rate_limit,
            limits=settings.limits,
            steps=Steps(shared.stores.charged, rate_limit, clock, limited.count),
        )
        self.handler = DataHandler(
            pipeline=self.pipeline,
            in_flight=shared.drain.calls,
            metrics=shared.metrics,
            settings=shared.edge,
            body_bytes=settings.limits.body_bytes,
            access_log=AccessLog(settings.logging.access),
        )
        self.service = Service(
            trace_handler(self.handler.handle, shared.traces),
            shared.edge,
            clock,
            is_draining=shared.drain.begun.is_set,
            count_refusal=self.handler.count_refusal,
            fence=shared.fence,
        )
        metrics = shared.metrics
        metrics.watch(catalogue.CONNECTIONS, lambda: len(self.service.connections))
        metrics.watch(catalogue.CONNECTIONS_EVICTED, lambda: self.service.limiter.evicted)
        metrics.watch(catalogue.USAGE_OVERFLOW, lambda: self.usage.overflowed)
        metrics.watch_all(catalogue.STORAGE_LIMIT_REFUSALS, limited.by_app)

    def prepare(self, settings: Settings) -> Prepared:
        """Builds the policies of layers 1 and 2."""
        caller, token = caller_policy(settings, self._clock), token_policy(settings, self._bindings)
        return Prepared(lambda: self.pipeline.replace_policies(caller, token))


def caller_policy(settings: Settings, clock: Clock) -> CallerPolicy:
    """Builds layer 1. If strangers could pass it, it accepts only the names of loopback as Host."""
    hosts, policy = hosts_of_calls(settings), _proof_of_caller(settings, clock)
    return policy if hosts is None else AtHosts(policy, hosts)


def _proof_of_caller(settings: Settings, clock: Clock) -> CallerPolicy:
    """Builds the proof of the caller: a signature or a trusted proxy; in development there is none."""
    signature = settings.signature
    if signature.mode == "off":
        log.warning("signature.mode is off: every request that reaches the data listener is accepted")
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
        proxy=_trusted_proxy(signature.credentials.trusted_proxy),
        denied_peers=Networks(signature.denied_networks),
        clock=clock,
    )


def token_policy(settings: Settings, bindings: Bindings) -> TableTokenPolicy:
    """Builds layer 2. Without layer 1, `Authorization` may carry the table token as well."""
    is_unsigned = settings.signature.mode == "off"
    return TableTokenPolicy.for_development(bindings) if is_unsigned else TableTokenPolicy(bindings)


def _trusted_proxy(settings: TrustedProxySettings | None) -> TrustedProxy | None:
    if settings is None:
        return None
    return TrustedProxy(
        caller_header=settings.caller_header.lower().encode(),
        secret_header=settings.secret_header.lower().encode(),
        secrets=[secret.encode() for secret in settings.secrets],
        networks=Networks(settings.networks),
    )
