"""Query API of Prometheus: selectors of series, and the response format."""

import json
from collections.abc import Iterable
from typing import Generic, TypeVar

from msgspec import Struct, field


def equal(labels: Iterable[tuple[str, str]]) -> list[str]:
    """Returns matchers for exactly these labels. PromQL understands the escapes of JSON strings."""
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels]


def selector(matchers: Iterable[str]) -> str:
    """Returns a selector. The brace has its own line, so that a comment in a matcher cannot swallow it."""
    return "{" + ",".join(matchers) + "\n}"


Point = tuple[float, str]
"""An instant in Unix seconds, and a value as text."""


class QueryResult(Struct):
    """One series of a response: a `value` of an instant query, or the `values` of a range."""

    metric: dict[str, str]
    value: Point | None = None
    values: list[Point] = []

    @property
    def points(self) -> list[Point]:
        """All points of the series, whichever kind of query it answers."""
        return self.values if self.value is None else [self.value]


Result = TypeVar("Result")


class _Data(Struct, Generic[Result]):
    result: list[Result]


class QueryResponse(Struct, Generic[Result]):
    """A successful response. `Result` is QueryResult, or Raw to decode series by series."""

    data: _Data[Result]


class QueryError(Struct):
    """The response to a failed query."""

    error: str
    type: str = field(name="errorType")
