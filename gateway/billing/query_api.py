"""Response format of the query API of Prometheus, as the command and the control plane decode it."""

from typing import Generic, TypeVar

from msgspec import Struct, field

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
