"""Metrics of the directory, read from its parts at each scrape."""

from gateway.directory.parts import DirectoryParts
from gateway.observability import catalogue
from gateway.observability.metrics import ServiceMetrics


def watch_directory(metrics: ServiceMetrics, directory: DirectoryParts) -> None:
    """Exposes the counts of the cache, the feed, corrupt records and reclaiming."""
    bindings, feed, reclaimer = directory.bindings, directory.feed, directory.reclaimer
    metrics.watch(catalogue.CACHE_HITS, lambda: bindings.counts.hits)
    metrics.watch(catalogue.CACHE_MISSES, lambda: bindings.counts.misses)
    metrics.watch(catalogue.CACHE_STALE, lambda: bindings.counts.stale)
    metrics.watch(catalogue.CACHE_WITHHELD, lambda: bindings.counts.withheld)
    metrics.watch(catalogue.CACHE_ENTRIES, lambda: len(bindings))
    metrics.watch(catalogue.FEED_SILENT, lambda: feed.silent_seconds)
    metrics.watch(catalogue.FEED_GAPS, lambda: feed.gaps)
    metrics.watch(catalogue.CORRUPT_RECORDS, lambda: len(directory.corrupt))
    metrics.watch(catalogue.RECLAIM_PENDING, lambda: reclaimer.pending)
    metrics.watch(catalogue.RECLAIM_SCANNED, lambda: reclaimer.scanned)
    metrics.watch(catalogue.RECLAIM_DELETED, lambda: reclaimer.deleted)
