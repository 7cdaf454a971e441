"""Window counters in DynamoDB, by conditional updates (D140)."""

from collections.abc import Callable
from contextlib import suppress
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
"""Shortest time that DynamoDB keeps a closed window, so that a wrong clock loses no open one."""


class _Window(Struct, frozen=True):
    charges: Number = field(name="n")
    closes_at_ms: Number = field(name="c")


class DynamoWindowCounter:
    """A `WindowCounter`: one write per decision, one more for the charge that opens a window.

    Exact over all replicas, because every change is one conditional write of one item:

    charge   `n + 1` on condition that the window is open and has room. If not, DynamoDB returns the current
             item, which shows whether the charge is refused or a window must be opened.
    open     `n = 1` with a new end, on condition that the item is still the closed window that was read. Of
             racing replicas one wins, with its own charge counted; the others fail the condition and charge
             the winner's window.

    A charge whose response is lost is not repeated. It may have been counted, so a window may count one
    charge too many; it never admits one too many.

    `now_ms` is this replica's estimate of DynamoDB's time, because a condition cannot use the server's clock;
    it raises BackendUnavailable while the time is unknown. Windows open and close early or late by the
    difference between replicas' estimates. A window that ends more than two windows ahead was opened by a
    wrong clock; it counts as closed, else it would refuse its tenant until then.
    """

    def __init__(self, client: Client, table: str, now_ms: Callable[[], int]) -> None:
        self._client = client
        self._table = table
        self._now_ms = now_ms

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Charge:
        for _ in range(_MOST_RACES):
            now_ms = self._now_ms()
            window = await self._count(bucket, limit, now_ms, window_ms, amount)
            if isinstance(window, Charge):
                return window
            if window is not None and _is_open(window, now_ms, window_ms):
                if int(window.charges) + amount > limit:
                    return _charge(window, limit, now_ms, window_ms, admitted=False)
            elif amount > limit:
                return Charge(admitted=False, closes_in_ms=window_ms, remaining=limit)
            elif await self._open(bucket, window, now_ms + window_ms, amount):
                return Charge(admitted=True, closes_in_ms=window_ms, remaining=limit - amount)
        raise BackendUnavailable("the window keeps changing")

    async def refund(self, bucket: str, charge: Charge, amount: int) -> None:
        """Takes back a charge, if its window is still open; a later one ends later."""
        now_ms = self._now_ms()
        values = {
            ":amount": number(amount),
            ":now": number(now_ms),
            ":end": number(now_ms + charge.closes_in_ms),
        }
        request = self._update(
            bucket, "SET n = n - :amount", "n >= :amount AND c > :now AND c <= :end", values
        )
        with suppress(ConditionFailed):
            await self._client.call(Action.UPDATE, request)

    async def _count(
        self, bucket: str, limit: int, now_ms: int, window_ms: int, amount: int
    ) -> Charge | _Window | None:
        """Charges an open window that has room; else returns the current window, or None if there is none."""
        request = self._update(
            bucket,
            "SET n = n + :amount",
            "c > :now AND c <= :latest AND n <= :most",
            {
                ":amount": number(amount),
                ":now": number(now_ms),
                ":latest": number(now_ms + 2 * window_ms),
                ":most": number(limit - amount),
            },
        )
        try:
            output = await self._client.call(Action.UPDATE, request)
        except ConditionFailed as failed:
            return None if failed.item is None else decode(failed.item, _Window)
        window = decode(output, UpdateItemOutput[_Window]).attributes
        return _charge(window, limit, now_ms, window_ms, admitted=True)

    async def _open(self, bucket: str, closed: _Window | None, closes_at_ms: int, amount: int) -> bool:
        """Opens a window with its first charge; returns False if another replica was first."""
        values = {
            ":amount": number(amount),
            ":closes": number(closes_at_ms),
            ":t": collectable_from(closes_at_ms + _KEPT_MS),
        }
        condition = "attribute_not_exists(c)"
        if closed is not None:
            condition = "c = :closed"
            values[":closed"] = number(int(closed.closes_at_ms))
        request = self._update(bucket, "SET n = :amount, c = :closes, t = :t", condition, values)
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
    """Builds the verdict. Another replica's clock set the end, so it is clamped to `window_ms` on ours."""
    closes_in_ms = max(1, min(int(window.closes_at_ms) - now_ms, window_ms))
    return Charge(admitted, closes_in_ms, max(limit - int(window.charges), 0))
