"""Prometheus text, format 0.0.4, rendered in steps between which the event loop serves requests.

A scrape is not a snapshot: each counter is read when its step is rendered. Later counts appear in the next
scrape. Each counter is correct by itself, which is all that differences of counters need. Rows are listed
once, at the beginning: a row dropped meanwhile is still rendered, a new row waits for the next scrape.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from io import BytesIO
from itertools import islice

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gateway.directory.reclaim.sweeper import StorageUse
from gateway.domain.model import Environment
from gateway.observability.catalogue import START_TIME, STORAGE_BYTES, STORAGE_ENTRIES, STORAGE_LIMIT
from gateway.observability.catalogue import Metric as StorageMetric
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.series import METRICS
from gateway.observability.usage import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ROWS_PER_STEP = 25
"""At most 375 lines, in 0.1 ms. In one step, 100,000 series would hold the event loop for 0.1 s."""

_SAMPLES_PER_STEP = 40
"""Samples of a service metric: 0.2 ms. A histogram by store, operation and outcome has hundreds."""

_RENDERINGS = 2
"""Texts that are rendered concurrently. Each takes megabytes, and more would not be ready sooner."""

_HEAD_LINES = 2
"""HELP and TYPE."""

_STORAGE_FIELDS = {STORAGE_ENTRIES: "entries", STORAGE_BYTES: "bytes", STORAGE_LIMIT: "max_bytes"}

Storage = Mapping[Environment, StorageUse]

_GZIP_LEVEL = 1
_GZIP_FORMAT = 31
"""Prometheus asks for gzip, which is at most an eighth of the text (D123)."""


class Exposition:
    """Renders the responses of the three metrics paths."""

    def __init__(
        self, usage: Usage, service: ServiceMetrics, storage: Callable[[], Storage] = dict, max_apps: int = 0
    ) -> None:
        self._usage = usage
        self._storage = storage
        self._max_apps = max_apps
        self._renderings = asyncio.Semaphore(_RENDERINGS)
        self._registry = CollectorRegistry()
        self._registry.register(service)
        self._registry.register(_ProcessMetrics())
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    async def usage(self, *, gzip: bool = False) -> bytes:
        """Renders the tenant series alone."""
        return await self._render(self._usage_parts(), gzip=gzip)

    async def service(self, *, gzip: bool = False) -> bytes:
        """Renders the service metrics, whose number does not grow with tenants."""
        return await self._render(self._service_parts(), gzip=gzip)

    async def everything(self, *, gzip: bool = False) -> bytes:
        """Renders service metrics and tenant series."""
        return await self._render(self._service_parts(), self._usage_parts(), gzip=gzip)

    async def _render(self, *texts: AsyncIterator[bytes], gzip: bool) -> bytes:
        async with self._renderings:
            return await _joined(*texts, gzip=gzip)

    async def _usage_parts(self) -> AsyncIterator[bytes]:
        rows = self._usage.rows()
        for metric in METRICS:
            yield f"# HELP {metric.name} {metric.help_text}\n# TYPE {metric.name} {metric.type}\n".encode()
            for start in range(0, len(rows), _ROWS_PER_STEP):
                yield self._usage.text(rows[start : start + _ROWS_PER_STEP], metric).encode()

        used = list(islice(self._storage().items(), self._max_apps))
        for metric, field in _STORAGE_FIELDS.items():
            yield f"# HELP {metric.name} {metric.help_text}\n# TYPE {metric.name} {metric.type}\n".encode()
            for start in range(0, len(used), _ROWS_PER_STEP):
                lines = [_storage_line(metric, *each, field) for each in used[start : start + _ROWS_PER_STEP]]
                yield "".join(lines).encode()

    async def _service_parts(self) -> AsyncIterator[bytes]:
        for family in self._registry.collect():
            for start in range(0, max(len(family.samples), 1), _SAMPLES_PER_STEP):
                yield _text_of(family, start)


async def _joined(*texts: AsyncIterator[bytes], gzip: bool) -> bytes:
    """Joins, and perhaps compresses, all parts of the texts. Other tasks run after each part."""
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_FORMAT) if gzip else None
    # It grows in place, and its value is no copy; joining 10 MB at the end would hold the loop for 5 ms.
    whole = BytesIO()
    for text in texts:
        async for part in text:
            whole.write(packer.compress(part) if packer else part)
            await asyncio.sleep(0)
    whole.write(packer.flush() if packer else b"")
    return whole.getvalue()


def _text_of(family: Metric, start: int) -> bytes:
    """Renders the next few samples of a family, with its head before the first."""
    part = Metric(family.name, family.documentation, family.type)
    part.samples = family.samples[start : start + _SAMPLES_PER_STEP]
    text = generate_latest(_OneFamily(part))
    return text.split(b"\n", _HEAD_LINES)[-1] if start else text


def _storage_line(metric: StorageMetric, environment: Environment, use: StorageUse, field: str) -> str:
    """Renders a sample. Tenants' names hold no character that needs escaping."""
    labels = f'org="{environment.org}",app="{environment.app}",env="{environment.env}"'
    return f"{metric.name}{{{labels}}} {getattr(use, field)}\n"


class _ProcessMetrics(Collector):
    """Process metrics except the start time, by which billing distinguishes processes (D154).

    The kernel's start time is up to a second early, so the gateway exposes its own, to the millisecond.
    """

    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._process.collect() if family.name != START_TIME.name)


class _OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family
