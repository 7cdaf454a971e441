"""Scrapes of a gateway as Prometheus makes them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from gateway.domain.model import Operation, TenantLabels, UsageOutcome
from gateway.observability.usage import Usage
from tests.support.gateway import Gateway
from tests.support.stopwatch import PATIENCE_SECONDS

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

REQUESTS = "kvs_usage_requests_total"
REQUEST_BYTES = "kvs_usage_request_bytes_total"
RESPONSE_BYTES = "kvs_usage_response_bytes_total"
USAGE = (REQUESTS, REQUEST_BYTES, RESPONSE_BYTES)


def parse(text: bytes) -> Samples:
    """Every sample; the parser refuses what is not the text format, and no series may come twice."""
    samples: Samples = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            series = (sample.name, frozenset(sample.labels.items()))
            assert series not in samples, series
            samples[series] = sample.value
    return samples


async def scrape(gateway: Gateway, path: str = "/metrics") -> Samples:
    reply = await gateway.ask_ops(path)
    assert reply.status == 200
    return parse(reply.body)


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum over all series of a name that carry these labels."""
    wanted = set(labels.items())
    return sum(value for (each, carried), value in samples.items() if each == name and wanted <= carried)


def series(samples: Samples, names: Iterable[str], **labels: str) -> list[float]:
    """The values of all series of some names that carry these labels."""
    wanted = set(labels.items())
    return [value for (each, carried), value in samples.items() if each in names and wanted <= carried]


def tenant(number: int) -> TenantLabels:
    return TenantLabels("acme", f"app{number}", "production", "sessions")


def count(usage: Usage, number: int, times: int = 1) -> None:
    """Count so many gets of a table, of 10 and 20 bytes."""
    for _ in range(times):
        usage.count(tenant(number), Operation.GET, UsageOutcome.OK, 10, 20)


def use_everything(usage: Usage, number: int) -> None:
    """Count each operation with each outcome once, so that a table has all 56 series."""
    for operation in Operation:
        for outcome in UsageOutcome:
            usage.count(tenant(number), operation, outcome, 10, 20)


async def eventually(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Returns the first true result of `condition`."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if value := await condition():
                return value
            await asyncio.sleep(0.002)


async def hanging_call(gateway: Gateway) -> asyncio.Task:
    """A call that hangs in its first store call until `faults.gate` is set."""
    before = len(gateway.faults.calls)
    gateway.faults.gate.clear()
    call = asyncio.create_task(gateway.get("k"))

    async def hangs() -> bool:
        return ("charge", "acme/shop/production") in gateway.faults.calls[before:]

    await eventually(hangs)
    return call
