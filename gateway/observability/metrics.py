"""The service's own metrics: kept as plain integers, shown through prometheus_client.

`labels()` and the client's locks cost more than the rest of the accounting
together; here a count is one dictionary look-up and one addition.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gateway import __version__
from gateway.domain.errors import ControlRefusal, Refusal
from gateway.domain.model import Operation

OTHER_OPERATION = "other"

_BOUNDS_SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip


class Histogram:
    """Durations in seconds, by bucket."""

    __slots__ = ("_counts", "_sum_seconds")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_SECONDS) + 1)
        self._sum_seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(_BOUNDS_SECONDS, seconds)] += 1
        self._sum_seconds += seconds

    def add_to(self, family: HistogramMetricFamily, labels: list[str]) -> None:
        """Show the histogram as one set of series."""
        total = 0
        buckets = []
        for bound, count in zip((*map(str, _BOUNDS_SECONDS), "+Inf"), self._counts, strict=True):
            total += count
            buckets.append((bound, total))
        family.add_metric(labels, buckets, self._sum_seconds)


class ServiceMetrics(Collector):
    """Everything that is counted about the service itself. `gauges` are read when they are scraped."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations = {name: Histogram() for name in (*Operation, OTHER_OPERATION)}
        self._refusals: Counter[str] = Counter(dict.fromkeys(_codes(Refusal), 0))
        self._stores: dict[tuple[str, str, str], Histogram] = {}
        self._counters: dict[str, tuple[str, Callable[[], int]]] = {}
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self._dependencies: Callable[[], dict[str, bool]] = dict
        self._clock_leads: Callable[[], dict[str, float]] = dict

    def answered(self, operation: str, status: int, code: str | None, seconds: float) -> None:
        """Count one answered request of the data plane."""
        self._requests[operation, status] += 1
        self._durations[operation].observe(seconds)
        if code is not None:
            self._refusals[code] += 1

    def store_histogram(self, backend: str, operation: str, outcome: str) -> Histogram:
        """The durations of one store operation that ended in `ok` or `error`."""
        return self._stores.setdefault((backend, operation, outcome), Histogram())

    def watch_counter(self, name: str, help_text: str, read: Callable[[], int]) -> None:
        """Show a count that somebody else keeps."""
        self._counters[name] = (help_text, read)

    def watch_gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Show a level that somebody else keeps."""
        self._gauges[name] = (help_text, read)

    def watch_dependencies(
        self, are_up: Callable[[], dict[str, bool]], clock_leads: Callable[[], dict[str, float]]
    ) -> None:
        """Show which dependencies are up, and by how many seconds this clock leads theirs."""
        self._dependencies = are_up
        self._clock_leads = clock_leads

    def collect(self) -> Iterator[Metric]:
        """All families, for a prometheus_client registry."""
        requests = CounterMetricFamily(
            "kvs_http_requests", "Answered requests.", labels=["operation", "status"]
        )
        for (operation, status), count in self._requests.items():
            requests.add_metric([operation, str(status)], count)
        durations = HistogramMetricFamily(
            "kvs_http_request_duration_seconds", "From the head to the answer.", labels=["operation"]
        )
        for operation, histogram in self._durations.items():
            histogram.add_to(durations, [operation])
        refusals = CounterMetricFamily("kvs_refusals", "Refused requests.", labels=["code"])
        for code, count in self._refusals.items():
            refusals.add_metric([code], count)
        stores = HistogramMetricFamily(
            "kvs_store_duration_seconds", "Calls of a store.", labels=["backend", "operation", "outcome"]
        )
        for key, histogram in self._stores.items():
            histogram.add_to(stores, list(key))
        yield from (requests, durations, refusals, stores)
        yield from self._collect_watched()

    def _collect_watched(self) -> Iterator[Metric]:
        for name, (help_text, read) in self._counters.items():
            yield CounterMetricFamily(name, help_text, value=read())
        for name, (help_text, level) in self._gauges.items():
            yield GaugeMetricFamily(name, help_text, value=level())
        up = GaugeMetricFamily("kvs_dependency_up", "1 while it answers.", labels=["dependency"])
        for dependency, is_up in self._dependencies().items():
            up.add_metric([dependency], int(is_up))
        skew = GaugeMetricFamily(
            "kvs_clock_skew_seconds", "This clock minus the dependency's.", labels=["dependency"]
        )
        for dependency, seconds in self._clock_leads().items():
            skew.add_metric([dependency], seconds)
        build = GaugeMetricFamily("kvs_build_info", "The running version.", labels=["version"])
        build.add_metric([__version__], 1)
        yield from (up, skew, build)


def _codes(kind: type[Refusal]) -> Iterator[str]:
    """Of the data plane: each has a series from the start."""
    if kind is ControlRefusal:
        return
    if hasattr(kind, "code"):
        yield kind.code
    for child in kind.__subclasses__():
        yield from _codes(child)
