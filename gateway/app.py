"""The composition root: the only module that names concrete classes and wires them together."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_network

from msgspec import Struct

from backends import open_backend
from backends.clock import Clock, SystemClock
from backends.interface import Backend
from backends.settings import StoreSettings
from gateway.config.declaring import declared_apps
from gateway.config.settings import Settings
from gateway.credentials.keyring import Credentials, Keyring
from gateway.credentials.roles import ApprovedRoles
from gateway.credentials.session import SessionCredentials
from gateway.credentials.trusted_proxy import TrustedProxy
from gateway.directory.bindings import CachedBindings
from gateway.directory.declared import DeclaredApps
from gateway.directory.directory import Directory
from gateway.directory.managed import ManagedApps
from gateway.directory.reclaiming import Reclaimer
from gateway.directory.records import labels_of
from gateway.directory.runtime import Runtime
from gateway.edge.control import ControlEdge
from gateway.edge.data import DataEdge
from gateway.edge.management import AppCalls, CredentialCalls, TableCalls
from gateway.edge.ops import OpsEdge
from gateway.edge.responding import Responder
from gateway.execution import Executor
from gateway.health import Health
from gateway.limits import Limits
from gateway.metering.exposition import Exposition
from gateway.metering.meter import Meter
from gateway.metering.service import ServiceMetrics
from gateway.metering.stores import MeteredEntryStore, MeteredRecordStore, MeteredWindowCounter
from gateway.metering.usage import KnownTables, Usage
from gateway.model import Caller
from gateway.pipeline import Pipeline
from gateway.policies.rate_limit import GrantCharge, LenientRateLimit, RateLimit
from gateway.policies.signature import CallerPolicy, SignaturePolicy, Unsigned
from gateway.policies.table_token import TableTokenPolicy
from gateway.sigv4 import Rules
from gateway.sigv4.verification import strip_default_port

log = logging.getLogger("kvs.app")

OpenStore = Callable[[StoreSettings, Clock], Awaitable[Backend]]


class App(Struct, frozen=True):
    """Everything that is wired, for `gateway.lifecycle` to run."""

    settings: Settings
    data: DataEdge
    ops: OpsEdge
    control: ControlEdge
    data_responder: Responder
    side_responder: Responder
    health: Health
    directory: Directory
    reclaimer: Reclaimer
    usage: Usage
    known_tables: KnownTables
    backends: Sequence[Backend]


class _Stores(Struct, frozen=True):
    """The three ports, timed, and what stands behind each."""

    entries: MeteredEntryStore
    counters: MeteredWindowCounter
    records: MeteredRecordStore
    dependencies: dict[str, Backend]

    @property
    def backends(self) -> list[Backend]:
        """What stands behind the ports, each once."""
        return list(dict.fromkeys(self.dependencies.values()))


async def build_app(
    settings: Settings, clock: Clock | None = None, open_store: OpenStore = open_backend
) -> App:
    """Wire an app. Nothing listens yet, and no store needs to be reachable."""
    clock = clock or SystemClock()
    metrics = ServiceMetrics()
    stores = await _open_stores(settings, clock, metrics, open_store)
    usage = _usage(settings, clock)
    declared = DeclaredApps(declared_apps(settings), settings.rate_limit.requests_per_minute)
    known_tables = KnownTables(usage)
    known_tables.update(labels_of(app, table) for app in declared.all() for table in app.tables)
    bindings = _bindings(settings, clock, declared, stores)
    managed = ManagedApps(stores.records, clock, settings.directory.max_tables)
    directory = Directory(declared, managed, bindings)
    roles = ApprovedRoles(settings.signature.approved_roles)
    sessions = _sessions(settings, clock)
    health = Health(stores.dependencies, strict=settings.readiness == "strict")
    pipeline = Pipeline(
        signature=_signature(settings, clock, roles, sessions),
        table_token=_table_token(settings, bindings),
        rate_limit=_rate_limit(settings, clock, stores),
        limits=_limits(settings),
        meter=Meter(usage),
        executor=Executor(stores.entries, clock),
    )
    data_responder, side_responder = (Responder(settings.edge, clock) for _ in range(2))
    _watch(metrics, bindings, usage, health)
    return App(
        settings=settings,
        data=_data(settings, pipeline, data_responder, metrics),
        ops=OpsEdge(health, Exposition(usage, metrics), side_responder),
        control=_control(settings, directory, roles, sessions, side_responder),
        data_responder=data_responder,
        side_responder=side_responder,
        health=health,
        directory=directory,
        reclaimer=Reclaimer(stores.records, stores.entries, clock, _ms(settings.directory.cache_ttl_seconds)),
        usage=usage,
        known_tables=known_tables,
        backends=stores.backends,
    )


async def _open_stores(
    settings: Settings, clock: Clock, metrics: ServiceMetrics, open_store: OpenStore
) -> _Stores:
    store = await open_store(settings.store, clock)
    counters = store if settings.counters is None else await open_store(settings.counters, clock)
    if "memory" in (store.name, counters.name):
        log.warning("the memory store serves one replica only, and forgets everything when it ends")
    return _Stores(
        entries=MeteredEntryStore(store.entries, metrics, store.name),
        counters=MeteredWindowCounter(counters.counters, metrics, counters.name),
        records=MeteredRecordStore(store.records, metrics, store.name),
        dependencies={"store": store, "counters": counters, "directory": store},
    )


def _usage(settings: Settings, clock: Clock) -> Usage:
    return Usage(
        max_series=settings.metering.max_series,
        idle_ms=_ms(settings.metering.idle_seconds),
        now_ms=clock.monotonic_ms,
    )


def _data(settings: Settings, pipeline: Pipeline, responder: Responder, metrics: ServiceMetrics) -> DataEdge:
    return DataEdge(
        pipeline=pipeline,
        responder=responder,
        metrics=metrics,
        settings=settings.edge,
        body_bytes=settings.limits.body_bytes,
        access_share=settings.logging.access,
    )


def _bindings(settings: Settings, clock: Clock, declared: DeclaredApps, stores: _Stores) -> CachedBindings:
    return CachedBindings(
        declared=declared,
        records=stores.records,
        clock=clock,
        default_limit=settings.rate_limit.requests_per_minute,
        cache_ttl_ms=_ms(settings.directory.cache_ttl_seconds),
        stale_ttl_ms=_ms(settings.directory.stale_ttl_seconds),
    )


def _sessions(settings: Settings, clock: Clock) -> SessionCredentials | None:
    session = settings.signature.credentials.session
    return None if session is None else SessionCredentials(session.master_keys, clock)


def _signature(
    settings: Settings, clock: Clock, roles: ApprovedRoles, sessions: SessionCredentials | None
) -> CallerPolicy:
    signature = settings.signature
    if signature.mode == "off":
        log.warning("signature.mode is off: anyone who reaches the data listener is a caller")
        return Unsigned()
    static = {
        credential.access_key_id: Credentials(credential.secret_access_key.encode(), Caller(credential.role))
        for credential in signature.credentials.static
    }
    return SignaturePolicy(
        rules=Rules(
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


def _table_token(settings: Settings, bindings: CachedBindings) -> TableTokenPolicy:
    if settings.signature.mode == "off":
        return TableTokenPolicy.for_development(bindings)
    return TableTokenPolicy(bindings)


def _rate_limit(settings: Settings, clock: Clock, stores: _Stores) -> GrantCharge:
    strict = RateLimit(stores.counters, clock.monotonic_ms)
    return LenientRateLimit(strict) if settings.rate_limit.on_failure == "allow" else strict


def _limits(settings: Settings) -> Limits:
    limits = settings.limits
    return Limits(
        key_bytes=limits.key_bytes,
        value_bytes=limits.value_bytes,
        min_ttl_seconds=limits.min_ttl_seconds,
        max_ttl_seconds=limits.max_ttl_seconds,
        default_ttl_seconds=limits.default_ttl_seconds,
    )


def _control(
    settings: Settings,
    directory: Directory,
    roles: ApprovedRoles,
    sessions: SessionCredentials | None,
    responder: Responder,
) -> ControlEdge:
    runtime = Runtime(
        public_url=settings.public_url,
        region=settings.region,
        variable_prefix=settings.runtime.variable_prefix,
        default_limit=settings.rate_limit.requests_per_minute,
        default_max_tables=settings.directory.max_tables,
    )
    session = settings.signature.credentials.session
    calls = (
        TableCalls(directory, runtime, settings.directory.rotation_overlap_seconds),
        AppCalls(directory, runtime),
        CredentialCalls(sessions, roles, 0 if session is None else session.max_ttl_seconds),
    )
    if not settings.control.tokens:
        log.warning("control.tokens is empty: the control plane refuses every call")
    return ControlEdge(
        tokens=settings.control.tokens,
        routes=[route for group in calls for route in group.routes],
        responder=responder,
        settings=settings.edge,
    )


def _watch(metrics: ServiceMetrics, bindings: CachedBindings, usage: Usage, health: Health) -> None:
    cache = "kvs_directory_cache"
    metrics.watch_counter(f"{cache}_hits", "Tokens found in the cache.", lambda: bindings.counts.hits)
    metrics.watch_counter(f"{cache}_misses", "Tokens read from the store.", lambda: bindings.counts.misses)
    metrics.watch_counter(
        f"{cache}_stale", "Tokens served while the store was down.", lambda: bindings.counts.stale
    )
    metrics.watch_gauge(f"{cache}_entries", "Tokens in the cache.", lambda: len(bindings))
    metrics.watch_counter(
        "kvs_usage_overflow", "Requests that found no series of their own.", lambda: usage.overflowed
    )
    metrics.watch_dependencies(health.dependencies)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
