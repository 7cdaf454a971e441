"""Service metrics: counted in plain integers, exposed through prometheus_client.

A count is one dictionary lookup and one addition; `labels()` and the client's locks cost ten times as much
(D123). Requests need no counter beside their durations: a histogram knows its count.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from operator import add

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from gateway import __version__
from gateway.domain import errors
from gateway.domain.model import Operation
from gateway.observability.catalogue import (
    BUILD_INFO,
    HTTP_REQUEST_DURATION,
    HTTP_REQUESTS,
    REFUSALS,
    STORE_DURATION,
    Metric,
)

OTHER_OPERATION = "other"

_BOUNDS_SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip
_BUCKETS = (*map(str, _BOUNDS_SECONDS), "+Inf")

Labels = tuple[str, ...]
"""Label values of a metric, in the catalogue's order."""


class Histogram:
    """Histogram of durations in seconds, with one count per bucket."""

    __slots__ = ("counts", "sum_seconds")

    def __init__(self) -> None:
        self.counts = [0] * len(_BUCKETS)
        self.sum_seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[bisect_left(_BOUNDS_SECONDS, seconds)] += 1
        self.sum_seconds += seconds

    def merge(self, other: "Histogram") -> None:
        """Adds the counts of another histogram."""
        self.counts = list(map(add, self.counts, other.counts))
        self.sum_seconds += other.sum_seconds


class ServiceMetrics(Collector):
    """Counters of the service, and readers of numbers that other parts keep."""

    def __init__(self) -> None:
        self._answered: defaultdict[tuple[str, int], Histogram] = defaultdict(Histogram)
        self._refusals: Counter[str] = Counter(dict.fromkeys(_data_plane_codes(), 0))
        self._stores: defaultdict[Labels, Histogram] = defaultdict(Histogram)
        self._watched: dict[Metric, Callable[[], dict[Labels, float]]] = {}
        self.watch_labelled(BUILD_INFO, lambda: {__version__: 1})

    def answered(self, operation: str, status: int, code: str | None, seconds: float) -> None:
        """Counts one answered request of the data plane."""
        self._answered[operation, status].observe(seconds)
        if code is not None:
            self._refusals[code] += 1

    def store_histogram(self, backend: str, operation: str, outcome: str) -> Histogram:
        """Returns the histogram of one store operation with one outcome, `ok` or `error`."""
        return self._stores[backend, operation, outcome]

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """Exposes a number that is read at each scrape."""
        self._watched[metric] = lambda: {(): read()}

    def watch_labelled(self, metric: Metric, read: Callable[[], Mapping[str, float]]) -> None:
        """Exposes numbers by the value of the metric's only label, read at each scrape."""
        self._watched[metric] = lambda: {(value,): number for value, number in read().items()}

    def watch_all(self, metric: Metric, read: Callable[[], dict[Labels, float]]) -> None:
        """Exposes numbers by the values of all labels, read at each scrape."""
        self._watched[metric] = read

    def collect(self) -> Iterator[Family]:
        """Yields all metric families, for a prometheus_client registry."""
        requests: dict[Labels, float] = {
            (operation, str(status)): sum(histogram.counts)
            for (operation, status), histogram in self._answered.items()
        }
        yield _numbers(HTTP_REQUESTS, requests)
        yield _histograms(HTTP_REQUEST_DURATION, self._durations())
        yield _numbers(REFUSALS, {(code,): count for code, count in self._refusals.items()})
        yield _histograms(STORE_DURATION, self._stores)
        for metric, read in self._watched.items():
            yield _numbers(metric, read())

    def _durations(self) -> dict[Labels, Histogram]:
        """Merges the histograms by operation: buckets for each status would be far more series."""
        durations: dict[Labels, Histogram] = {
            (operation,): Histogram() for operation in (*Operation, OTHER_OPERATION)
        }
        for (operation, _), histogram in self._answered.items():
            durations[operation,].merge(histogram)
        return durations


def _numbers(metric: Metric, numbers: Mapping[Labels, float]) -> Family:
    kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help_text, labels=metric.labels)
    for labels, number in numbers.items():
        family.add_metric(labels, number)
    return family


def _histograms(metric: Metric, histograms: Mapping[Labels, Histogram]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help_text, labels=metric.labels)
    for labels, histogram in histograms.items():
        buckets = list(zip(_BUCKETS, accumulate(histogram.counts), strict=True))
        family.add_metric(labels, buckets, histogram.sum_seconds)
    return family


def _data_plane_codes() -> set[str]:
    """Returns the codes of `gateway.domain.errors`: each has a series from the start."""
    return {kind.code for kind in vars(errors).values() if hasattr(kind, "code")}
