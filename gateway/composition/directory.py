"""Composes the directory, and makes records of the apps that the configuration file declares."""

from gateway.composition.shared import Shared, milliseconds
from gateway.config.settings import DeclaredAppSettings, DeclaredTable, Settings
from gateway.directory.declared import DeclaredApps, declared_table_id
from gateway.directory.parts import Defaults, directory_parts
from gateway.directory.records import AppRecord, TableRecord
from gateway.directory.tokens import sha256_of
from gateway.domain.model import Environment
from gateway.observability import catalogue
from gateway.observability.metrics import ServiceMetrics
from gateway.replica.reload import Prepared


class ConfiguredDirectory:
    """The parts of the directory, with the declared apps of the current settings."""

    def __init__(self, shared: Shared) -> None:
        settings = shared.settings
        self.parts = directory_parts(
            declared_apps(settings),
            shared.stores.records,
            shared.stores.tables,
            shared.clock,
            defaults=Defaults(
                settings.rate_limit.requests_per_minute,
                settings.directory.max_tables,
                settings.limits.app_bytes,
            ),
            fresh_ms=milliseconds(settings.directory.cache_ttl_seconds),
            stale_ms=milliseconds(settings.directory.stale_ttl_seconds),
        )
        self._expose(shared.metrics)

    def prepare(self, settings: Settings) -> Prepared:
        """Builds the declared apps, which may be many."""
        declared = declared_apps(settings)
        return Prepared(lambda: self.parts.directory.declare(declared), declared.release)

    def _expose(self, metrics: ServiceMetrics) -> None:
        """Exposes the counts of the cache, the feed, corrupt records and reclaiming."""
        bindings, feed, reclaimer = self.parts.bindings, self.parts.feed, self.parts.reclaimer
        metrics.watch(catalogue.CACHE_HITS, lambda: bindings.counts.hits)
        metrics.watch(catalogue.CACHE_MISSES, lambda: bindings.counts.misses)
        metrics.watch(catalogue.CACHE_STALE, lambda: bindings.counts.stale)
        metrics.watch(catalogue.CACHE_WITHHELD, lambda: bindings.counts.withheld)
        metrics.watch(catalogue.CACHE_ENTRIES, lambda: len(bindings))
        metrics.watch(catalogue.FEED_SILENT, lambda: feed.silent_seconds)
        metrics.watch(catalogue.FEED_GAPS, lambda: feed.gaps)
        metrics.watch(catalogue.CORRUPT_RECORDS, lambda: len(self.parts.corrupt) + self.parts.feed.foreign)
        metrics.watch(catalogue.RECLAIM_PENDING, lambda: reclaimer.pending)
        metrics.watch(catalogue.RECLAIM_DROPPED, lambda: reclaimer.dropped)


def declared_apps(settings: Settings) -> DeclaredApps:
    """Returns the declared apps as records. Only the digest of each token is kept."""
    return DeclaredApps(
        [_app_record(app) for app in settings.apps],
        settings.rate_limit.requests_per_minute,
        settings.limits.app_bytes,
    )


def _app_record(app: DeclaredAppSettings) -> AppRecord:
    environment = Environment(app.org, app.app, app.env)
    return AppRecord(
        environment=environment,
        type=app.type,
        active=app.status == "active",
        requests_per_minute=app.requests_per_minute,
        max_tables=app.max_tables,
        max_bytes=app.max_bytes,
        tables=tuple(_table_record(environment, table) for table in app.tables),
    )


def _table_record(environment: Environment, table: DeclaredTable) -> TableRecord:
    return TableRecord(
        id=declared_table_id(environment, table.name),
        name=table.name,
        token_sha256=table.token_sha256 or sha256_of(table.token or ""),
        token_last_four=None if table.token is None else table.token[-4:],
        minute_limit=table.minute_limit,
    )
