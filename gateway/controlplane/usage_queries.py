"""Reads an app's usage from Prometheus by a fixed set of queries, for a whole range and for its steps (D211).

Responses are checked: bounded in size, finite values, valid names of tables and outcomes.
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from gateway.billing.query_api import QueryResponse, QueryResult, equal, selector
from gateway.billing.samples import OUTCOME
from gateway.controlplane.errors import UsageUnavailable
from gateway.observability.catalogue import (
    REFUSALS,
    USAGE_REQUEST_BYTES,
    USAGE_REQUESTS,
    USAGE_RESPONSE_BYTES,
)

Post = Callable[[str, Mapping[str, str]], Awaitable[bytes]]
"""Sends a form to a path of the Prometheus API and returns the body. Raises UsageUnavailable."""

MOST_BYTES = 262_144
"""Largest response: some 170 tables with all steps. Scanning it holds the event loop for less than 1 ms."""

_SERIES_BYTES = 8_192
"""Largest series; 60 points and their labels take 3,000 bytes."""

_TABLE = re.compile(r"[A-Za-z0-9_]{1,32}")
_CODE = re.compile(r"[a-z_]{1,64}")
_RATE_WINDOW = "2m"


class Range(NamedTuple):
    """Length of a range and of its steps, of which there are at most 60."""

    seconds: int
    step_seconds: int


RANGES = {"hour": Range(3_600, 120), "day": Range(86_400, 1_800), "month": Range(2_592_000, 43_200)}


Points = list[tuple[float, float]]
Results = AsyncIterator[tuple[dict[str, str], Points]]


class Figures(Struct, frozen=True):
    """Usage by table. `series` holds requests per minute by step, `refusals` are the region's, by code."""

    requests: dict[str, dict[str, float]]
    request_bytes: dict[str, float]
    response_bytes: dict[str, float]
    per_minute: dict[str, float]
    series: dict[str, Points]
    refusals: dict[str, float] | None

    @property
    def tables(self) -> set[str]:
        """Tables with any usage."""
        return {*self.requests, *self.request_bytes, *self.response_bytes, *self.series}


async def read_figures(
    post: Post, labels: Mapping[str, str], span: Range, now_seconds: int, *, with_refusals: bool
) -> Figures:
    """Reads the usage of the series with these labels. Raises UsageUnavailable."""
    series = selector(equal(labels.items()))
    requests, whole = f"{USAGE_REQUESTS.name}{series}", f"[{span.seconds}s]"
    asked = [
        partial(_instant, post, now_seconds, f"sum by (table, {OUTCOME}) (increase({requests}{whole}))"),
        *(
            partial(_instant, post, now_seconds, f"sum by (table) (increase({counter.name}{series}{whole}))")
            for counter in (USAGE_REQUEST_BYTES, USAGE_RESPONSE_BYTES)
        ),
        partial(_instant, post, now_seconds, f"60 * sum by (table) (rate({requests}[{_RATE_WINDOW}]))"),
        partial(_steps, post, now_seconds, span, requests),
    ]
    if with_refusals:
        asked.append(
            partial(_instant, post, now_seconds, f"sum by (code) (increase({REFUSALS.name}{whole}))")
        )
    # Decoded here and not by the tasks of the queries: these have no turns (`gateway.http.turns`).
    by_outcome, sent, received, rates, steps, *refused = await _all(asked)
    outcomes: dict[str, dict[str, float]] = {}
    async for each, points in _decode(by_outcome):
        outcomes.setdefault(_named(each, "table", _TABLE), {})[_named(each, OUTCOME, _CODE)] = points[-1][1]
    return Figures(
        outcomes,
        await _last(sent, "table", _TABLE),
        await _last(received, "table", _TABLE),
        await _last(rates, "table", _TABLE),
        {_named(each, "table", _TABLE): points async for each, points in _decode(steps)},
        await _last(refused[0], "code", _CODE) if refused else None,
    )


async def _all(asked: Sequence[Callable[[], Coroutine[Any, Any, bytes]]]) -> list[bytes]:
    """Runs all queries concurrently; the first failure cancels the others. Each begins in another turn."""
    loop, tasks = asyncio.get_running_loop(), []
    try:
        async with asyncio.TaskGroup() as group:
            for each in asked:
                tasks.append(group.create_task(each()))
                begun = loop.create_future()
                loop.call_soon(_wake, begun)
                await begun
    except ExceptionGroup as failed:
        raise (failed.subgroup(UsageUnavailable) or failed).exceptions[0] from None
    return [task.result() for task in tasks]


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def _instant(post: Post, now_seconds: int, query: str) -> bytes:
    return await post("query", {"query": query, "time": str(now_seconds)})


async def _steps(post: Post, now_seconds: int, span: Range, requests: str) -> bytes:
    step = span.step_seconds
    form = {
        "query": f"sum by (table) (increase({requests}[{step}s])) * 60 / {step}",
        "start": str(now_seconds - span.seconds + step),
        "end": str(now_seconds),
        "step": str(step),
    }
    return await post("query_range", form)


async def _decode(body: bytes) -> Results:
    """Yields all series; each has at least one point."""
    try:
        for raw in msgspec.json.decode(body, type=QueryResponse[Raw]).data.result:
            if memoryview(raw).nbytes > _SERIES_BYTES:
                raise _unexpected()
            each = msgspec.json.decode(raw, type=QueryResult)
            if not each.points:
                raise _unexpected()
            yield each.metric, [(time, _figure(text)) for time, text in each.points]
            await asyncio.sleep(0)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, and values are text
        raise _unexpected() from None


def _figure(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise _unexpected()
    return value


async def _last(body: bytes, label: str, rule: re.Pattern[str]) -> dict[str, float]:
    return {_named(labels, label, rule): points[-1][1] async for labels, points in _decode(body)}


def _named(labels: dict[str, str], label: str, rule: re.Pattern[str]) -> str:
    value = labels.get(label, "")
    if not rule.fullmatch(value):
        raise _unexpected()
    return value


def _unexpected() -> UsageUnavailable:
    return UsageUnavailable("console.prometheus is not the URL of a Prometheus with the gateway's metrics")
