"""The parts of the directory, put together: one of each for a replica."""

from msgspec import Struct

from backends.clock import Clock
from backends.interface import EntryStore, RecordStore
from gateway.directory.apps.managed import ManagedApps
from gateway.directory.apps.pages import DirectoryPages
from gateway.directory.corrupt import CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.directory import Directory
from gateway.directory.reclaim.reclaimer import Reclaimer
from gateway.directory.resolve.bindings import CachedBindings
from gateway.directory.resolve.feed import FeedFollower
from gateway.directory.retention import Remembering


class Defaults(Struct, frozen=True):
    """What holds for apps that say nothing else: calls per minute, and tables at most."""

    requests_per_minute: int
    max_tables: int


class DirectoryParts(Struct, frozen=True):
    """`bindings` are for the data plane, `directory` and `pages` for the control plane."""

    bindings: CachedBindings
    directory: Directory
    pages: DirectoryPages
    feed: FeedFollower
    corrupt: CorruptRecords
    remembering: Remembering
    reclaimer: Reclaimer


def directory_parts(
    declared: DeclaredApps,
    records: RecordStore,
    entries: EntryStore,
    clock: Clock,
    *,
    defaults: Defaults,
    fresh_ms: int,
    stale_ms: int,
) -> DirectoryParts:
    """A directory that remembers bindings for `fresh_ms`, and without the store for `stale_ms` more."""
    corrupt = CorruptRecords(records)
    remembering = Remembering(records, corrupt, fresh_ms=fresh_ms, stale_ms=stale_ms)
    bindings = CachedBindings(
        declared=declared,
        records=records,
        corrupt=corrupt,
        remembering=remembering,
        clock=clock,
        default_limit=defaults.requests_per_minute,
    )
    managed = ManagedApps(records, corrupt, clock, defaults.max_tables)
    return DirectoryParts(
        bindings,
        Directory(declared, managed, bindings),
        DirectoryPages(declared, records, corrupt),
        FeedFollower(records, bindings, clock),
        corrupt,
        remembering,
        Reclaimer(records, entries, corrupt, remembering, clock),
    )
