"""Wires the parts of the directory: one of each per replica."""

from msgspec import Struct

from backends.clock import Clock
from backends.interface import RecordStore
from backends.tables import TableStore
from gateway.directory.apps.directory import Directory
from gateway.directory.apps.pages import DirectoryPages
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.reclaim.reclaimer import Reclaimer
from gateway.directory.reclaim.sweeper import Sweeper
from gateway.directory.resolve.bindings import CachedBindings
from gateway.directory.resolve.feed import FeedFollower
from gateway.directory.retention import CacheRetention


class Defaults(Struct, frozen=True):
    """Limits of apps that set none of their own: calls per minute, number of tables, bytes of entries."""

    requests_per_minute: int
    max_tables: int
    max_bytes: int | None = None


class DirectoryParts(Struct, frozen=True):
    """`bindings` serve the data plane, `directory` and `pages` the control plane."""

    bindings: CachedBindings
    directory: Directory
    pages: DirectoryPages
    feed: FeedFollower
    corrupt: CorruptRecords
    retention: CacheRetention
    reclaimer: Reclaimer
    sweeper: Sweeper


def directory_parts(
    declared: DeclaredApps,
    records: RecordStore,
    tables: TableStore,
    clock: Clock,
    *,
    defaults: Defaults,
    fresh_ms: int,
    stale_ms: int,
) -> DirectoryParts:
    """Builds a directory that caches bindings for `fresh_ms`, or `stale_ms` longer if the store is down."""
    corrupt = CorruptRecords(records)
    retention = CacheRetention(records, corrupt, fresh_ms=fresh_ms, stale_ms=stale_ms)
    bindings = CachedBindings(
        declared=declared,
        records=records,
        corrupt=corrupt,
        retention=retention,
        clock=clock,
        default_limit=defaults.requests_per_minute,
        default_max_bytes=defaults.max_bytes,
    )
    directory = Directory(
        declared=declared,
        records=records,
        corrupt=corrupt,
        bindings=bindings,
        clock=clock,
        default_max_tables=defaults.max_tables,
    )
    return DirectoryParts(
        bindings,
        directory,
        DirectoryPages(declared, records, corrupt),
        FeedFollower(records, bindings, clock),
        corrupt,
        retention,
        Reclaimer(records, tables, corrupt, retention, clock),
        Sweeper(records, tables, corrupt, declared, clock, default_max_bytes=defaults.max_bytes),
    )
