"""The composition root: the only module that names concrete classes and wires them together."""

import logging
from collections.abc import Sequence

from msgspec import Struct

from backends import open_backend
from backends.clock import Clock, SystemClock
from backends.interface import Backend
from gateway.app.callers import build_callers
from gateway.app.renewal import Renewal, build_declared, build_table_token
from gateway.app.stores import OpenStore, Stores, open_stores
from gateway.config.settings import Settings
from gateway.controlplane.apps import AppCalls, TableCalls
from gateway.controlplane.credentials import CredentialCalls
from gateway.controlplane.handler import ControlEdge
from gateway.controlplane.runtime import Runtime
from gateway.dataplane.execution import Executor, OpenMeter, meter_of
from gateway.dataplane.handler import DataEdge
from gateway.dataplane.pipeline import Pipeline
from gateway.dataplane.policies.caller import CallerPolicy
from gateway.dataplane.policies.rate_limit import GrantCharge, LenientRateLimit, RateLimit
from gateway.dataplane.tracing import trace_handler, trace_meter
from gateway.directory.bindings import CachedBindings
from gateway.directory.declared import DeclaredApps
from gateway.directory.directory import Directory
from gateway.directory.managed import ManagedApps
from gateway.directory.reclaiming import Reclaimer
from gateway.directory.records import labels_of
from gateway.http.messages import Handler
from gateway.observability import catalogue
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.tracing.opening import Traces, open_tracing
from gateway.observability.usage import KnownTables, Usage
from gateway.opsplane.exposition import Exposition
from gateway.opsplane.handler import OpsEdge
from gateway.opsplane.health import Health

log = logging.getLogger("kvs.app")


class App(Struct, frozen=True):
    """Everything that is wired, for `gateway.replica.run` to run."""

    settings: Settings
    clock: Clock
    data: DataEdge
    handle_data: Handler
    ops: OpsEdge
    control: ControlEdge
    health: Health
    directory: Directory
    reclaimer: Reclaimer
    usage: Usage
    known_tables: KnownTables
    backends: Sequence[Backend]
    metrics: ServiceMetrics
    tracing: Traces | None
    renewal: Renewal


async def build_app(
    settings: Settings, clock: Clock | None = None, open_store: OpenStore = open_backend
) -> App:
    """Wire an app. Nothing listens yet, and no store needs to be reachable."""
    clock = clock or SystemClock()
    metrics = ServiceMetrics()
    tracing = open_tracing(settings.tracing, metrics)
    stores = await open_stores(settings, clock, metrics, open_store, tracing)
    usage = _usage(settings, clock)
    declared = build_declared(settings)
    bindings = _bindings(settings, clock, declared, stores)
    directory = _directory(settings, clock, stores, declared, bindings)
    callers = build_callers(settings, clock)
    health = Health(stores.dependencies, strict=settings.readiness == "strict")
    open_meter = trace_meter(meter_of(usage), tracing)
    pipeline = _pipeline(settings, clock, stores, bindings, callers=callers.policy, open_meter=open_meter)
    data = _data(settings, pipeline, metrics)
    credential_calls = CredentialCalls(callers.issuer)
    control = _control(settings, directory, credential_calls)
    _watch(metrics, bindings, usage, health, started_seconds=clock.wall_ms() / 1000)
    return App(
        settings=settings,
        clock=clock,
        data=data,
        handle_data=trace_handler(data.handle, tracing),
        ops=OpsEdge(health, Exposition(usage, metrics)),
        control=control,
        health=health,
        directory=directory,
        reclaimer=Reclaimer(stores.records, stores.entries, clock, _ms(settings.directory.cache_ttl_seconds)),
        usage=usage,
        known_tables=_known_tables(usage, declared),
        backends=stores.backends,
        metrics=metrics,
        tracing=tracing,
        renewal=Renewal(
            settings=settings,
            clock=clock,
            stores=stores,
            declared=declared,
            bindings=bindings,
            directory=directory,
            pipeline=pipeline,
            control=control,
            credential_calls=credential_calls,
        ),
    )


def _pipeline(
    settings: Settings,
    clock: Clock,
    stores: Stores,
    bindings: CachedBindings,
    *,
    callers: CallerPolicy,
    open_meter: OpenMeter,
) -> Pipeline:
    return Pipeline(
        signature=callers,
        table_token=build_table_token(settings, bindings),
        rate_limit=_rate_limit(settings, clock, stores),
        limits=settings.limits,
        open_meter=open_meter,
        executor=Executor(stores.entries, clock),
    )


def _known_tables(usage: Usage, declared: DeclaredApps) -> KnownTables:
    known = KnownTables(usage)
    known.update(labels_of(app, table) for app in declared.all() for table in app.tables)
    return known


def _directory(
    settings: Settings, clock: Clock, stores: Stores, declared: DeclaredApps, bindings: CachedBindings
) -> Directory:
    managed = ManagedApps(stores.records, clock, settings.directory.max_tables)
    return Directory(declared, managed, bindings)


def _usage(settings: Settings, clock: Clock) -> Usage:
    return Usage(
        max_series=settings.metering.max_series,
        idle_ms=_ms(settings.metering.idle_seconds),
        now_ms=clock.monotonic_ms,
    )


def _data(settings: Settings, pipeline: Pipeline, metrics: ServiceMetrics) -> DataEdge:
    return DataEdge(
        pipeline=pipeline,
        metrics=metrics,
        settings=settings.edge,
        body_bytes=settings.limits.body_bytes,
        access_share=settings.logging.access,
    )


def _bindings(settings: Settings, clock: Clock, declared: DeclaredApps, stores: Stores) -> CachedBindings:
    return CachedBindings(
        declared=declared,
        records=stores.records,
        clock=clock,
        default_limit=settings.rate_limit.requests_per_minute,
        cache_ttl_ms=_ms(settings.directory.cache_ttl_seconds),
        stale_ttl_ms=_ms(settings.directory.stale_ttl_seconds),
    )


def _rate_limit(settings: Settings, clock: Clock, stores: Stores) -> GrantCharge:
    strict = RateLimit(stores.counters, clock.monotonic_ms)
    return LenientRateLimit(strict) if settings.rate_limit.on_failure == "allow" else strict


def _control(settings: Settings, directory: Directory, credential_calls: CredentialCalls) -> ControlEdge:
    runtime = Runtime(
        public_url=settings.public_url,
        region=settings.region,
        variable_prefix=settings.runtime.variable_prefix,
        default_limit=settings.rate_limit.requests_per_minute,
        default_max_tables=settings.directory.max_tables,
    )
    calls = (
        TableCalls(directory, runtime, settings.directory.rotation_overlap_seconds),
        AppCalls(directory, runtime),
        credential_calls,
    )
    if not settings.control.tokens:
        log.warning("control.tokens is empty: the control plane refuses every call")
    return ControlEdge(
        tokens=settings.control.tokens,
        routes=[route for group in calls for route in group.routes],
        settings=settings.edge,
    )


def _watch(
    metrics: ServiceMetrics,
    bindings: CachedBindings,
    usage: Usage,
    health: Health,
    *,
    started_seconds: float,
) -> None:
    """`started_seconds` is after all scrapes of who was here before, and before any of this replica's."""
    metrics.watch(catalogue.CACHE_HITS, lambda: bindings.counts.hits)
    metrics.watch(catalogue.CACHE_MISSES, lambda: bindings.counts.misses)
    metrics.watch(catalogue.CACHE_STALE, lambda: bindings.counts.stale)
    metrics.watch(catalogue.CACHE_ENTRIES, lambda: len(bindings))
    metrics.watch(catalogue.USAGE_OVERFLOW, lambda: usage.overflowed)
    metrics.watch(catalogue.DRAINING, lambda: health.draining)
    metrics.watch_labelled(catalogue.DEPENDENCY_UP, health.dependencies)
    metrics.watch_labelled(catalogue.CLOCK_SKEW, health.clock_leads)
    metrics.watch(catalogue.START_TIME, lambda: started_seconds)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
