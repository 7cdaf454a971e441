"""Prometheus as the archive that holds the usage, over its HTTP API."""

import math
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlencode

import msgspec

from gateway.billing.query_api import QueryError, QueryResponse, QueryResult, equal, selector
from gateway.billing.samples import COUNTERS, OUTCOME, TENANT, Labels, Series, TooManySamples
from gateway.cli.calling import (
    CommandFailed,
    Exit,
    authorization,
    base_address,
    unreachable,
)
from gateway.cli.transport import (
    Deadline,
    Request,
    Response,
    ResponseTooLarge,
    UnusableResponse,
    send,
)
from gateway.observability.catalogue import BUILD_INFO, START_TIME

_QUERY_SECONDS = 150.0
"""Longer than the query timeout of Prometheus, which is two minutes by default."""

_ANSWER_BYTES = 64 * 1024 * 1024
_EXPLANATION = 8192
"""Characters shown of an explanation by Prometheus, which quotes the query."""


class PrometheusArchive:
    """Queries of usage; `matchers` select tenants. All methods raise TooManySamples and CommandFailed."""

    def __init__(self, url: str, token: str | None, matchers: str) -> None:
        self._url = url
        self._endpoint = base_address(url, "http://host:9090") + "/api/v1/query"
        self._headers = authorization(token, "KVS_PROMETHEUS_TOKEN", "invalid_prometheus_token")
        matchers = matchers.strip().removeprefix("{").removesuffix("}").strip().removesuffix(",")
        self._matchers = [f'__name__=~"{"|".join(COUNTERS)}"', *([matchers] if matchers else [])]

    def counters(self, after_ms: int, until_ms: int) -> list[Series]:
        return self._samples(selector(self._matchers), after_ms, until_ms)

    def starts(self, after_ms: int, until_ms: int) -> list[Series]:
        """Returns the start times of gateways.

        Every kind of process exposes a start time; only gateways expose the build info.
        """
        shown = self._evaluate(f"count_over_time({BUILD_INFO.name}{_range(after_ms, until_ms)})", until_ms)
        gateways = {_labels(result.metric, but=("__name__", *BUILD_INFO.labels)) for result in shown}
        starts = self._samples(START_TIME.name, after_ms, until_ms)
        return [each for each in starts if each.target in gateways]

    def targets(self, after_ms: int, until_ms: int) -> list[Labels]:
        shown = f"last_over_time({selector(self._matchers)}{_range(after_ms, until_ms)})"
        own = ", ".join((*TENANT, OUTCOME))
        return [_labels(each.metric) for each in self._evaluate(f"count without ({own}) ({shown})", until_ms)]

    def ends(self, target: Labels, after_ms: int, until_ms: int) -> list[Series] | None:
        """Returns the first and last sample of each counter, or None if a counter was reset.

        One query per metric: all functions but `last_over_time` drop the name of the metric, and answers stay
        small.
        """
        found: list[Series] = []
        for name in COUNTERS:
            counters = selector([*self._matchers, f'__name__="{name}"', *equal(target)])
            counters += _range(after_ms, until_ms)
            if self._evaluate(f"resets({counters}) > 0", until_ms):
                return None
            lowest = self._values(f"min_over_time({counters})", name, until_ms)
            last = self._values(f"last_over_time({counters})", name, until_ms)
            found += [
                Series(each, [(after_ms, lowest[each]), (until_ms, last[each])])
                for each in last
                if each in lowest
            ]
        return [each for each in found if each.target == target]

    def _values(self, expression: str, name: str, time_ms: int) -> dict[Labels, float]:
        results = self._evaluate(expression, time_ms)
        for result in results:
            result.metric["__name__"] = name
        return {each.labels: each.points[-1][1] for each in self._series(results, 0)}

    def last_counters(self, target: Labels, after_ms: int, until_ms: int) -> list[Series]:
        shown = selector([*self._matchers, *equal(target)])
        results = self._evaluate(f"last_over_time({shown}{_range(after_ms, until_ms)})", until_ms)
        return [each for each in self._series(results, after_ms) if each.target == target]

    def _samples(self, selector: str, after_ms: int, until_ms: int) -> list[Series]:
        return self._series(self._evaluate(selector + _range(after_ms, until_ms), until_ms), after_ms)

    def _series(self, results: list[QueryResult], after_ms: int) -> list[Series]:
        try:
            return list(_series(results, after_ms))
        except (ValueError, OverflowError):  # a value may be any text, and a time infinite
            raise self._unexpected() from None

    def _evaluate(self, expression: str, time_ms: int) -> list[QueryResult]:
        fields = urlencode({"query": expression, "time": f"{time_ms / 1000:.3f}"}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", **self._headers}
        request = Request("POST", self._endpoint, headers, fields)
        try:
            response = send(request, Deadline(_QUERY_SECONDS), max_bytes=_ANSWER_BYTES)
            if not response.is_success:
                raise self._failure(response)
            return msgspec.json.decode(response.body, type=QueryResponse[QueryResult]).data.result
        except ResponseTooLarge:
            raise TooManySamples from None
        except OSError as error:
            raise unreachable(error, self._url, "Prometheus") from None
        except (UnusableResponse, ValueError, RecursionError):  # RecursionError: JSON nested too deeply
            raise self._unexpected() from None

    def _failure(self, response: Response) -> Exception:
        if response.status in (401, 403):
            detail = (
                "Prometheus refused the token in KVS_PROMETHEUS_TOKEN"
                if self._headers
                else "Prometheus requires a token, and KVS_PROMETHEUS_TOKEN is not set"
            )
            return CommandFailed(
                Exit.NOT_AUTHORIZED, "not_authorized", detail, status=response.status, url=self._url
            )
        try:
            refusal = msgspec.json.decode(response.body, type=QueryError)
        except (ValueError, RecursionError):
            return self._unexpected(status=response.status)
        if refusal.type == "timeout" or "too many samples" in refusal.error:
            return TooManySamples(refusal.error)
        exit_code = Exit.INVALID if refusal.type == "bad_data" else Exit.GENERAL
        return CommandFailed(exit_code, "query_failed", refusal.error[:_EXPLANATION], status=response.status)

    def _unexpected(self, **more: object) -> CommandFailed:
        detail = "the server at this URL is not Prometheus: check the URL"
        return CommandFailed(Exit.GENERAL, "unexpected_answer", detail, url=self._url, **more)


def _range(after_ms: int, until_ms: int) -> str:
    return f"[{until_ms - after_ms}ms]"


def _labels(metric: dict[str, str], but: tuple[str, ...] = ()) -> Labels:
    return tuple(sorted(_label(name, value) for name, value in metric.items() if name not in but))


@lru_cache(maxsize=1_000_000)
def _label(name: str, value: str) -> tuple[str, str]:
    """Returns the same object for equal labels: most occur many times, and a ledger keeps all series."""
    return name, value


def _series(results: list[QueryResult], after_ms: int) -> Iterator[Series]:
    """Yields series without NaN, and without the sample that Prometheus 2 adds at the start of the range.

    Raises ValueError for a tenant or an outcome that a terminal cannot show: CSV has no escapes.
    """
    for result in results:
        if not all(result.metric.get(name, "").isprintable() for name in (*TENANT, OUTCOME)):
            raise ValueError
        points = [(round(time * 1000), float(value)) for time, value in result.points]
        points = [point for point in points if point[0] > after_ms and math.isfinite(point[1])]
        if points:
            yield Series(_labels(result.metric), points)
