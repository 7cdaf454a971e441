"""The usage of an app over HTTP, where a Prometheus is configured. Paths and fields are contract."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import msgspec
from cachetools import TTLCache
from msgspec import Struct

from backends.clock import Clock
from gateway.config.settings import ConsoleSettings
from gateway.controlplane.encoding import encode_list
from gateway.controlplane.errors import InvalidField, NoUsage, UsageUnavailable
from gateway.controlplane.fields import checked_name
from gateway.controlplane.routing import Action, CallResult, ControlCall, Routes
from gateway.controlplane.runtime import Runtime
from gateway.controlplane.usage_queries import MOST_BYTES, RANGES, Figures, Range, read_figures
from gateway.directory.apps.directory import Directory
from gateway.directory.records import AppRecord
from gateway.domain.answers import iso_instant
from gateway.domain.errors import Overloaded
from gateway.domain.model import UsageOutcome
from gateway.domain.rules import TableName
from gateway.http.client import FetchError, ResponseTooLarge, fetch

_DEADLINE_SECONDS = 5.0
_FRESH_SECONDS = 10
_CACHED_BYTES = 8 * 1024 * 1024
_QUESTIONS = 4
"""Usage reports that are read concurrently; further ones wait within their deadline."""

MAX_REPORTS = 7
"""Usage reports that are read or wait. More would let a caller that may only read take all requests that the
listener serves at once, while Prometheus is slow."""

_OUTCOMES = [outcome.label for outcome in UsageOutcome]


class _Question(Struct, frozen=True):
    """Cache key of a usage report: app, table (None: all), range, and whether refusals are included."""

    org: str
    app: str
    env: str
    table: str | None
    range: str
    with_refusals: bool

    @property
    def labels(self) -> dict[str, str]:
        named = {"org": self.org, "app": self.app, "env": self.env}
        return named if self.table is None else {**named, "table": self.table}


class UsageRoutes:
    """Shows the usage of an app. Reports are cached for a few seconds."""

    def __init__(
        self, settings: ConsoleSettings, directory: Directory, runtime: Runtime, clock: Clock
    ) -> None:
        self._prometheus = settings.prometheus
        self._directory = directory
        self._runtime = runtime
        self._clock = clock
        self._turns = asyncio.Semaphore(_QUESTIONS)
        self._reports = 0
        self._answers: TTLCache[_Question, bytes] = TTLCache(
            _CACHED_BYTES, _FRESH_SECONDS, timer=lambda: clock.monotonic_ms() / 1000, getsizeof=len
        )

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        path = r"/v1/orgs/([^/]+)/apps/([^/]+)/usage"
        return [(path, {"GET": Action("usage.show", "read", self.show, parameters=("range", "table"))})]

    async def show(self, call: ControlCall) -> CallResult:
        question = _parse(call)
        app = await self._directory.find(call.environment)
        if self._prometheus is None:
            raise NoUsage
        answer = self._answers.get(question)
        if answer is None:
            answer = await self._wait_for(self._prometheus, question, app)
        return CallResult(200, msgspec.Raw(answer))

    async def _wait_for(self, prometheus: str, question: _Question, app: AppRecord) -> bytes:
        if self._reports >= MAX_REPORTS:
            raise Overloaded("this replica is reading other usage reports; repeat the request")
        self._reports += 1
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS), self._turns:
                return self._answers.get(question) or await self._ask(prometheus, question, app)
        except TimeoutError:
            raise UsageUnavailable(f"Prometheus does not answer within {_DEADLINE_SECONDS:.0f} s") from None
        finally:
            self._reports -= 1

    async def _ask(self, prometheus: str, question: _Question, app: AppRecord) -> bytes:
        now_seconds = self._clock.wall_ms() // 1000
        span = RANGES[question.range]
        figures = await read_figures(
            partial(_query, prometheus.rstrip("/") + "/api/v1/"),
            question.labels,
            span,
            now_seconds,
            with_refusals=question.with_refusals,
        )
        answer = msgspec.json.encode(await self._describe(question, app, figures, span, now_seconds))
        self._answers[question] = answer
        return answer

    async def _describe(
        self, question: _Question, app: AppRecord, figures: Figures, span: Range, now_seconds: int
    ) -> dict[str, Any]:
        limits = {table.name: self._runtime.limit_of_table(app, table) for table in app.tables}
        names = limits if question.table is None else limits.keys() & {question.table}

        def describe_table(name: str) -> dict[str, Any]:
            return {
                **_totals(name, figures),
                "minute_limit": limits[name],
                "used_per_minute": round(figures.per_minute.get(name, 0.0), 1),
                "series": [(round(time), round(value, 1)) for time, value in figures.series.get(name, [])],
            }

        return {
            "range": question.range,
            "from": iso_instant((now_seconds - span.seconds) * 1000),
            "to": iso_instant(now_seconds * 1000),
            "step_seconds": span.step_seconds,
            "requests_per_minute": self._runtime.describe_app(app)["requests_per_minute"],
            "used_per_minute": round(sum(figures.per_minute.values()), 1),
            "tables": await encode_list(names, describe_table),
            "deleted_tables": await encode_list(
                sorted(figures.tables - limits.keys()), lambda name: _totals(name, figures)
            ),
            "refusals": figures.refusals and {code: round(n) for code, n in sorted(figures.refusals.items())},
        }


async def _query(base: str, path: str, form: Mapping[str, str]) -> bytes:
    """Sends a query to Prometheus and returns the body. Raises UsageUnavailable."""
    try:
        return await fetch(base + path, form, max_bytes=MOST_BYTES)
    except ResponseTooLarge as error:
        raise UsageUnavailable(f"Prometheus {error}; ask for one table, ?table=") from None
    except FetchError as error:
        raise UsageUnavailable(f"Prometheus {error}") from None


def _totals(name: str, figures: Figures) -> dict[str, Any]:
    counted = figures.requests.get(name, {})
    return {
        "name": name,
        "requests": {outcome: round(counted.get(outcome, 0.0)) for outcome in _OUTCOMES},
        "request_bytes": round(figures.request_bytes.get(name, 0.0)),
        "response_bytes": round(figures.response_bytes.get(name, 0.0)),
    }


def _parse(call: ControlCall) -> _Question:
    """Returns the requested report. Raises InvalidField."""
    environment = call.environment
    parameters = parse_qs(call.query, keep_blank_values=True)
    ranges, tables = parameters.get("range", ["hour"]), parameters.get("table", [])
    if len(ranges) > 1 or ranges[0] not in RANGES:
        raise InvalidField("invalid_range", f"range: expected one of {', '.join(RANGES)}")
    if len(tables) > 1:
        raise InvalidField("invalid_name", "table: given more than once")
    return _Question(
        environment.org,
        environment.app,
        environment.env,
        checked_name(tables[0], TableName, field="table") if tables else None,
        ranges[0],
        call.caller.may("read", "", ""),
    )
