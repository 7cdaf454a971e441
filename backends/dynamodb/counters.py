"""Window counters in DynamoDB, by conditional updates (D104, D140)."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action, ConditionFailed
from backends.dynamodb.items import (
    Number,
    UpdateItemOutput,
    Value,
    collectable_from,
    decode,
    number,
    window_key,
)
from backends.errors import BackendUnavailable
from backends.interface import Charge

_MOST_RACES = 8
_KEPT_MS = 3_600_000
"""How long DynamoDB keeps a closed window at the least, so that a clock that is off loses no open one."""


class _Window(Struct, frozen=True):
    charges: Number = field(name="n")
    closes_at_ms: Number = field(name="c")


class DynamoWindowCounter:
    """A `WindowCounter`: one write per decision, one more for the charge that opens a window (D104).

    Exact over all replicas, because every change is one conditional write of one item:

    charge   `n + 1` on condition that the window is open and has room. If not, DynamoDB returns the item as
             it is, which says whether the charge is refused or a window has to be opened.
    open     `n = 1` with a new end, on condition that the item is still the closed window that was seen. Of
             replicas that race for it one wins, with its own charge counted; the others fail the condition
             and charge the window that the winner opened.

    A charge whose response is lost is not repeated, and may have been counted: it counts one too many at the
    most, and never admits one too many.

    `now_ms` is DynamoDB's time as this replica knows it, since a condition cannot ask for it; it raises
    BackendUnavailable while it is not known. By as much as replicas differ in it they open and close windows
    early or late. A window that ends more than two windows ahead was opened by a clock that was far off; it
    counts as closed, or it would refuse its tenant until then.
    """

    def __init__(self, client: Client, table: str, now_ms: Callable[[], int]) -> None:
        self._client = client
        self._table = table
        self._now_ms = now_ms

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Charge:
        for _ in range(_MOST_RACES):
            now_ms = self._now_ms()
            window = await self._count(bucket, limit, now_ms, window_ms)
            if isinstance(window, Charge):
                return window
            if window is not None and _is_open(window, now_ms, window_ms):
                if int(window.charges) >= limit:
                    return _charge(window, limit, now_ms, window_ms, admitted=False)
            elif await self._open(bucket, window, now_ms + window_ms):
                return Charge(admitted=True, closes_in_ms=window_ms, remaining=limit - 1)
        raise BackendUnavailable("the window keeps changing")

    async def _count(self, bucket: str, limit: int, now_ms: int, window_ms: int) -> Charge | _Window | None:
        """The charge, if the window is open and has room; else the window as it is, or None."""
        request = self._update(
            bucket,
            "SET n = n + :one",
            "c > :now AND c <= :latest AND n < :limit",
            {
                ":one": number(1),
                ":now": number(now_ms),
                ":latest": number(now_ms + 2 * window_ms),
                ":limit": number(limit),
            },
        )
        try:
            output = await self._client.call(Action.UPDATE, request)
        except ConditionFailed as failed:
            return None if failed.item is None else decode(failed.item, _Window)
        window = decode(output, UpdateItemOutput[_Window]).attributes
        return _charge(window, limit, now_ms, window_ms, admitted=True)

    async def _open(self, bucket: str, closed: _Window | None, closes_at_ms: int) -> bool:
        """Open a window with its first charge, unless another replica was first."""
        values = {
            ":one": number(1),
            ":closes": number(closes_at_ms),
            ":t": collectable_from(closes_at_ms + _KEPT_MS),
        }
        condition = "attribute_not_exists(c)"
        if closed is not None:
            condition = "c = :closed"
            values[":closed"] = number(int(closed.closes_at_ms))
        request = self._update(bucket, "SET n = :one, c = :closes, t = :t", condition, values)
        try:
            await self._client.call(Action.UPDATE, request)
        except ConditionFailed:
            return False
        return True

    def _update(
        self, bucket: str, expression: str, condition: str, values: dict[str, Value]
    ) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Key": window_key(bucket),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }


def _is_open(window: _Window, now_ms: int, window_ms: int) -> bool:
    return 0 < int(window.closes_at_ms) - now_ms <= 2 * window_ms


def _charge(window: _Window, limit: int, now_ms: int, window_ms: int, *, admitted: bool) -> Charge:
    """The end is as another replica's clock saw it; no window is longer than `window_ms` by ours."""
    closes_in_ms = max(1, min(int(window.closes_at_ms) - now_ms, window_ms))
    return Charge(admitted, closes_in_ms, max(limit - int(window.charges), 0))
