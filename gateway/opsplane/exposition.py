"""Prometheus text, format 0.0.4, rendered in steps between which the event loop serves requests.

A scrape is no snapshot: each counter is read when its step is rendered, and what is counted later is in
the next scrape. Every counter is right by itself, and differences of counters need no more. Rows are
listed once, at the beginning: one that is dropped meanwhile is still rendered, one that is new comes with
the next scrape.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gateway.observability.catalogue import START_TIME
from gateway.observability.metrics import ServiceMetrics
from gateway.observability.series import METRICS
from gateway.observability.usage import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ROWS_PER_STEP = 100
"""At most 1,500 lines, in 0.3 ms. At once, 100,000 series would hold the event loop for 0.1 s."""


class Exposition:
    """What the three metrics paths answer."""

    def __init__(self, usage: Usage, service: ServiceMetrics) -> None:
        self._usage = usage
        self._registry = CollectorRegistry()
        self._registry.register(service)
        self._registry.register(_ProcessMetrics())
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    async def usage(self) -> bytes:
        """The tenant series alone."""
        return b"".join(await self._usage_parts())

    async def service(self) -> bytes:
        """All but the tenant series: a number of series that does not grow with tenants."""
        return b"".join(await self._service_parts())

    async def everything(self) -> bytes:
        """Both."""
        return b"".join(await self._service_parts() + await self._usage_parts())

    async def _usage_parts(self) -> list[bytes]:
        parts: list[bytes] = []
        rows = self._usage.rows()
        for metric in METRICS:
            head = f"# HELP {metric.name} {metric.help_text}\n# TYPE {metric.name} {metric.type}\n"
            parts.append(head.encode())
            for start in range(0, len(rows), _ROWS_PER_STEP):
                parts.append(self._usage.text(rows[start : start + _ROWS_PER_STEP], metric).encode())
                await asyncio.sleep(0)
        return parts

    async def _service_parts(self) -> list[bytes]:
        parts: list[bytes] = []
        for family in self._registry.collect():
            parts.append(generate_latest(_OneFamily(family)))
            await asyncio.sleep(0)
        return parts


class _ProcessMetrics(Collector):
    """Those of the process but its start time, which billing tells processes apart by (D56).

    The kernel's is up to a second early, so the gateway shows its own, to the millisecond.
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
