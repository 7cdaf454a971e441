"""Prometheus text, format 0.0.4, rendered in steps that let the event loop breathe."""

import asyncio

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest

from gateway.metering.service import ServiceMetrics
from gateway.metering.usage import FAMILIES, Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ROWS_PER_STEP = 100
"""100 rows are at most 1,500 lines: well below a millisecond."""


class Exposition:
    """What the three metrics paths answer."""

    def __init__(self, usage: Usage, service: ServiceMetrics) -> None:
        self._usage = usage
        self._registry = CollectorRegistry()
        self._registry.register(service)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    async def usage(self) -> bytes:
        """The tenant series alone."""
        parts: list[str] = []
        rows = self._usage.rows()
        for family, help_text in FAMILIES.items():
            parts.append(f"# HELP {family} {help_text}\n# TYPE {family} counter\n")
            for start in range(0, len(rows), _ROWS_PER_STEP):
                for row in rows[start : start + _ROWS_PER_STEP]:
                    parts.extend(row.lines(family))
                await asyncio.sleep(0)
        return "".join(parts).encode()

    async def service(self) -> bytes:
        """All but the tenant series: a number of series that does not grow with tenants."""
        return generate_latest(self._registry)

    async def everything(self) -> bytes:
        """Both."""
        return await self.service() + await self.usage()
