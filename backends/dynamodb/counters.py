"""Window counters in DynamoDB, by conditional updates on this gateway's wall clock (D104)."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from backends.dynamodb.client import Action, Client
from backends.dynamodb.reading import Number, Updated, decode
from backends.dynamodb.refusals import ConditionFailed
from backends.dynamodb.schema import Value, collectable_from, number, window_key
from backends.errors import BackendUnavailable
from backends.interface import Charge

_MOST_RACES = 8
_KEPT_MS = 3_600_000
"""How long DynamoDB keeps a closed window at the least, so that no clock that is off loses an open one."""


class _Window(Struct, frozen=True):
    charges: Number = field(name="n")
    closes_at_ms: Number = field(name="c")


class DynamoWindowCounter:
    """A `WindowCounter`: one write per decision, one more for the charge that opens a window."""

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
                    return _charge(window, now_ms, window_ms, admitted=False)
            elif await self._open(bucket, window, now_ms + window_ms):
                return Charge(admitted=True, closes_in_ms=window_ms)
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
            answer = await self._client.call(Action.UPDATE, request)
        except ConditionFailed as failed:
            return None if failed.item is None else decode(failed.item, _Window)
        return _charge(decode(answer, Updated[_Window]).attributes, now_ms, window_ms, admitted=True)

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
    """One that closes too late was opened by a clock that was far off; it counts as closed."""
    return 0 < int(window.closes_at_ms) - now_ms <= 2 * window_ms


def _charge(window: _Window, now_ms: int, window_ms: int, *, admitted: bool) -> Charge:
    """With a time to the close that holds for this replica's clock, too."""
    return Charge(admitted, max(1, min(int(window.closes_at_ms) - now_ms, window_ms)))
