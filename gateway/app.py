"""The composition root: the one module where the rooms meet. It chooses their parts and wires them together.

    stores ── directory ──┬── data plane       put, get and delete
                          ├── control plane    apps, tables and credentials
                          ├── credentials plane   what workloads fetch
                          └── ops plane        probes and metrics

A plane is what one listener serves. `prepare` builds what a reload changes in it.
"""

import logging

from msgspec import Struct

from backends import open_backend
from backends.clock import Clock, SystemClock
from gateway.config.apps import declared_apps
from gateway.config.settings import CredentialsListener, EdgeSettings, Settings
from gateway.controlplane.apps import AppRoutes, TableRoutes
from gateway.controlplane.callers import CallerRoutes, callers_of
from gateway.controlplane.console import PublicHandler, read_files
from gateway.controlplane.credentials import CredentialRoutes, issuer_of
from gateway.controlplane.cursors import cursor_cipher_of
from gateway.controlplane.handler import ControlHandler
from gateway.controlplane.health import HealthReport, HealthRoutes
from gateway.controlplane.lists import ListRoutes
from gateway.controlplane.runtime import runtime_of
from gateway.controlplane.sign_in import sign_in_of
from gateway.controlplane.usage import UsageRoutes
from gateway.credentialsplane.address_rate import AddressRateLimiter
from gateway.credentialsplane.container import Container
from gateway.credentialsplane.exchange import Exchange
from gateway.credentialsplane.handler import CredentialsHandler
from gateway.credentialsplane.web_identity import WebIdentity
from gateway.credentialsplane.workloads import Workloads
from gateway.dataplane.access_log import AccessLog
from gateway.dataplane.configured import caller_policy, rate_limit, token_policy
from gateway.dataplane.execution import Executor, meter_of
from gateway.dataplane.handler import DataHandler
from gateway.dataplane.pipeline import Pipeline
from gateway.dataplane.tracing import trace_handler, trace_meter
from gateway.directory.parts import Defaults, DirectoryParts, directory_parts
from gateway.directory.resolve.bindings import CachedBindings
from gateway.http.service import Service
from gateway.identity.issuers import Issuers
from gateway.observability import catalogue
from gateway.observability.directory import watch_directory
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.stores import StoreTimes
from gateway.observability.tracing.opening import Traces, open_tracing
from gateway.observability.usage import Usage
from gateway.opsplane.exposition import Exposition
from gateway.opsplane.handler import OpsHandler
from gateway.opsplane.health import Health
from gateway.replica.background import dropping_idle_rows, fetching_keys, health_checks, tending
from gateway.replica.certificates import Certificates
from gateway.replica.drain import Drain
from gateway.replica.key_sources import fetch_keys
from gateway.replica.reload import Part, Prepared, Reload
from gateway.replica.run import Replica, within_limits
from gateway.replica.stores import OpenStore, Stores, open_stores

log = logging.getLogger("kvs.app")

_SCRAPE_SECONDS = 60
"""Between two scrapes by default. A replica is found within one such time and scraped within the next."""


class App(Struct, frozen=True):
    """A replica that does not run yet, and its parts."""

    replica: Replica
    data: "DataPlane"
    control: "ControlPlane"
    ops: "OpsPlane"
    directory: DirectoryParts
    stores: Stores
    reload: Reload
    drain: Drain


async def build_app(
    settings: Settings, clock: Clock | None = None, open_store: OpenStore = open_backend
) -> App:
    """Wire a replica. Nothing listens yet, and no store needs to be reachable."""
    clock, metrics = clock or SystemClock(), ServiceMetrics()
    drain = Drain(
        settings.shutdown,
        first_scrape_ms=2 * _ms(max(settings.metering.first_sample_seconds, _SCRAPE_SECONDS)),
        now_ms=clock.monotonic_ms,
    )
    traces = open_tracing(settings.tracing, metrics)
    optional = [] if traces is None else [traces]
    stores = await open_stores(settings, clock, [StoreTimes(metrics), *optional], open_store)
    issuers = Issuers(fetch_keys, clock)
    metrics.watch_labelled(catalogue.ISSUER_KEYS_AGE, issuers.ages_seconds)
    metrics.watch_all(catalogue.ISSUER_FETCHES, issuers.fetches)
    shared = Shared(settings, within_limits(settings.edge), clock, metrics, traces, stores, drain, issuers)
    declared = declared_apps(settings)
    directory = directory_parts(
        declared,
        stores.records,
        stores.entries,
        clock,
        defaults=Defaults(settings.rate_limit.requests_per_minute, settings.directory.max_tables),
        fresh_ms=_ms(settings.directory.cache_ttl_seconds),
        stale_ms=_ms(settings.directory.stale_ttl_seconds),
    )
    watch_directory(metrics, directory)
    data = DataPlane(shared, directory.bindings)
    ops = OpsPlane(shared, data.usage)

    def health_report() -> dict[str, object]:
        return {
            **ops.health.describe(),
            "clock_skew_seconds": ops.health.clock_leads(),
            **reload.describe(),
        }

    control = ControlPlane(shared, directory, health_report)
    credentials = CredentialsPlane(shared)
    services = {
        "ops": ops.service,
        "control": control.service,
        "credentials": credentials.service,
        "data": data.service,
    }
    certificates = Certificates(settings.listen)
    replica = Replica(
        settings.listen,
        {name: service for name, service in services.items() if name in settings.listen.named},
        certificates.shown,
        drain,
        background=[
            health_checks(ops.health),
            *tending(directory),
            dropping_idle_rows(data.usage, settings.metering.idle_seconds),
            fetching_keys(issuers),
        ],
        resources=[*stores.backends, *optional, issuers],
    )
    parts: list[Part] = [data, control, credentials, certificates]
    reload = Reload(settings, parts, stores, metrics=metrics, clock=clock)
    return App(replica, data, control, ops, directory, stores, reload, drain)


class Shared(Struct, frozen=True):
    """What every plane is built on. `edge` is that of the settings, as far as the system's limits allow."""

    settings: Settings
    edge: EdgeSettings
    clock: Clock
    metrics: ServiceMetrics
    traces: Traces | None
    stores: Stores
    drain: Drain
    issuers: Issuers


class DataPlane:
    """Calls: who calls, which table, how often, then the store."""

    def __init__(self, shared: Shared, bindings: CachedBindings) -> None:
        settings, clock = shared.settings, shared.clock
        self._clock, self._bindings = clock, bindings
        self.usage = Usage(
            max_series=settings.metering.max_series,
            idle_ms=_ms(settings.metering.idle_seconds),
            first_sample_ms=_ms(settings.metering.first_sample_seconds),
            now_ms=clock.monotonic_ms,
            is_draining=shared.drain.is_draining,
        )
        self.pipeline = Pipeline(
            signature=caller_policy(settings, clock),
            table_token=token_policy(settings, bindings),
            rate_limit=rate_limit(settings, shared.stores.counters, clock),
            limits=settings.limits,
            open_meter=trace_meter(meter_of(self.usage), shared.traces),
            executor=Executor(shared.stores.entries, clock),
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
            is_draining=shared.drain.is_draining,
            count_refusal=self.handler.count_refusal,
        )
        metrics = shared.metrics
        metrics.watch(catalogue.CONNECTIONS, lambda: len(self.service.connections))
        metrics.watch(catalogue.CONNECTIONS_EVICTED, lambda: self.service.limiter.evicted)
        metrics.watch(catalogue.USAGE_OVERFLOW, lambda: self.usage.overflowed)

    def prepare(self, settings: Settings) -> Prepared:
        """Policies of layers 1 and 2."""
        caller, token = caller_policy(settings, self._clock), token_policy(settings, self._bindings)
        return Prepared(lambda: self.pipeline.replace_policies(caller, token))


class ControlPlane:
    """Apps, tables and credentials, for the bearers of control tokens."""

    def __init__(self, shared: Shared, parts: DirectoryParts, health_report: HealthReport) -> None:
        settings, clock = shared.settings, shared.clock
        self._clock = clock
        self.directory = parts.directory
        self.credentials = CredentialRoutes(issuer_of(settings.signature, clock))
        runtime = runtime_of(settings)
        self.lists = ListRoutes(parts.pages, runtime, cursor_cipher_of(settings))
        routes = [
            *TableRoutes(self.directory, runtime, settings.directory.rotation_overlap_seconds).routes,
            *AppRoutes(self.directory, runtime).routes,
            *self.lists.routes,
            *self.credentials.routes,
            *CallerRoutes().routes,
            *HealthRoutes(settings.region, clock.wall_ms(), health_report).routes,
            *UsageRoutes(settings.console, self.directory, runtime, clock).routes,
        ]
        if not settings.control.tokens and not settings.control.oidc:
            log.warning("control.tokens is empty: the control plane refuses every call")
        self._issuers = shared.issuers
        callers = callers_of(settings.control, self._issuers, clock)
        self._issuers.use("control", callers.web_tokens.keys)
        self.handler = ControlHandler(callers=callers, routes=routes, settings=shared.edge)
        files = read_files() if settings.console.enabled else None
        self.public = PublicHandler(files, sign_in_of(settings.control), self.handler.handle)
        self.service = Service(self.public.handle, shared.edge, clock)
        shared.metrics.watch_all(
            catalogue.CONTROL_REQUESTS, lambda: {**self.handler.counted, **self.public.counted}
        )
        shared.metrics.watch_labelled(catalogue.CONTROL_TOKEN_REQUESTS, lambda: self.handler.uses)

    def prepare(self, settings: Settings) -> Prepared:
        """Who may call, the issuer of credentials, and declared apps."""
        issuer, declared = issuer_of(settings.signature, self._clock), declared_apps(settings)
        callers, cursors = (
            callers_of(settings.control, self._issuers, self._clock),
            cursor_cipher_of(settings),
        )
        sign_in = sign_in_of(settings.control)

        def apply() -> None:
            self.handler.callers, self.lists.cursors = callers, cursors
            self.public.sign_in = sign_in
            self._issuers.use("control", callers.web_tokens.keys)
            self.credentials.issuer = issuer
            self.directory.declare(declared)

        return Prepared(apply, declared.release)


class CredentialsPlane:
    """Session credentials, for workloads that prove who they are."""

    def __init__(self, shared: Shared) -> None:
        settings, clock = shared.settings, shared.clock
        listener = settings.listen.credentials or CredentialsListener()
        self._clock = clock
        self._issuers = shared.issuers
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
            AddressRateLimiter(listener.requests_per_minute_per_address, clock),
        )
        self.service = Service(self.handler.handle, shared.edge, clock, is_draining=shared.drain.is_draining)
        shared.metrics.watch_all(catalogue.CREDENTIALS_REQUESTS, lambda: self.handler.counted)

    def prepare(self, settings: Settings) -> Prepared:
        """Workloads, and what they may be given."""
        workloads = Workloads(settings.workloads, self._issuers, self._clock)
        issuer = issuer_of(settings.signature, self._clock)

        def apply() -> None:
            self._issuers.use("credentials", workloads.keys)
            self._exchange.workloads, self._exchange.issuer = workloads, issuer

        return Prepared(apply)


class OpsPlane:
    """Probes and metrics."""

    def __init__(self, shared: Shared, usage: Usage) -> None:
        metrics, drain, is_strict = shared.metrics, shared.drain, shared.settings.readiness == "strict"
        self.health = Health(shared.stores.dependencies, strict=is_strict, is_draining=drain.is_draining)
        self.handler = OpsHandler(self.health, Exposition(usage, metrics), drain.begin_scrape)
        self.service = Service(self.handler.handle, shared.edge, shared.clock)
        metrics.watch(catalogue.DRAINING, drain.is_draining)
        metrics.watch_labelled(catalogue.DEPENDENCY_UP, self.health.dependencies)
        metrics.watch_all(catalogue.DEPENDENCY_WARNING, self.health.warning_levels)
        metrics.watch_labelled(catalogue.CLOCK_SKEW, self.health.clock_leads)
        # between the scrapes of the process before and those of this one
        started_seconds = shared.clock.wall_ms() / 1000
        metrics.watch(catalogue.START_TIME, lambda: started_seconds)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
