"""Reads of the feed's partition: announcements and the counter, in one query if it has no foreign items.

A foreign item may be larger than any reply is allowed to be, so a query filters for the feed's own items. If
it left out others, another query returns their sort keys. Foreign items may also end a query before it
reaches the counter, which is then read separately.
"""

from typing import Any

from backends.dynamodb.announcements import COUNTER, FeedItem, Page, number_in
from backends.dynamodb.client import Client
from backends.dynamodb.failures import Action
from backends.dynamodb.items import QueryOutput, Text, change_key, decode

_SPAN = "pk = :pk AND sk BETWEEN :first AND :last"
_OWN_FORM = (
    "(attribute_type(m, :text) AND attribute_not_exists(n))"
    " OR (attribute_type(n, :number) AND attribute_not_exists(m))"
)
_TYPES = {":text": {"S": "S"}, ":number": {"S": "N"}}


class FeedPartition:
    """The partition of one table's feed. All reads are strongly consistent."""

    def __init__(self, client: Client, table: str) -> None:
        self._client = client
        self._table = table

    async def page(self, first: int, limit: int, *, is_forward: bool = True) -> Page:
        """Reads up to `limit` items from a number on, or the last ones, and the counter."""
        span = (_sort_key(first), COUNTER)
        output = await self._own(span, limit, is_forward=is_forward)
        own = {item.sort_key.value: item for item in output.items}
        hidden = output.scanned > len(output.items)
        foreign = await self._keys(span, limit, is_forward=is_forward) - own.keys() if hidden else set()
        is_cut = bool(bytes(output.last))
        counted = await self._counted(own.pop(COUNTER, None), may_be_unread=is_cut or COUNTER in foreign)
        for sort_key in foreign:
            number = number_in(sort_key)
            if number is not None and (item := await self.find(number)) is not None:
                own[sort_key] = item  # an announcement that has just appeared, or no announcement
        names = {
            number: item.name
            for sort_key, item in own.items()
            if (number := number_in(sort_key)) is not None and (counted is None or number <= counted)
        }
        foreign -= own.keys()
        foreign |= {key for key, item in own.items() if number_in(key) is None or item.name is None}
        return Page(names, counted, sorted(foreign), is_cut=is_cut)

    async def find(self, number: int) -> FeedItem | None:
        """Reads the announcement of a number; a foreign item in its place has no name."""
        return await self._item(_sort_key(number))

    async def _counted(self, counter: FeedItem | None, *, may_be_unread: bool) -> int | None:
        if counter is None and may_be_unread:
            counter = await self._item(COUNTER)
        return 0 if counter is None else counter.count

    async def _item(self, sort_key: str) -> FeedItem | None:
        output = await self._own((sort_key, sort_key), limit=1)
        if output.items:
            return output.items[0]
        return FeedItem(Text(sort_key)) if output.scanned else None

    async def _own(
        self, span: tuple[str, str], limit: int, *, is_forward: bool = True
    ) -> QueryOutput[FeedItem]:
        request = self._query(span, limit, is_forward=is_forward)
        request["ProjectionExpression"] = "sk, m, n"
        request["FilterExpression"] = _OWN_FORM
        request["ExpressionAttributeValues"] |= _TYPES
        return decode(await self._client.call(Action.QUERY, request), QueryOutput[FeedItem])

    async def _keys(self, span: tuple[str, str], limit: int, *, is_forward: bool) -> set[str]:
        request = self._query(span, limit, is_forward=is_forward) | {"ProjectionExpression": "sk"}
        output = decode(await self._client.call(Action.QUERY, request), QueryOutput[FeedItem])
        return {item.sort_key.value for item in output.items}

    def _query(self, span: tuple[str, str], limit: int, *, is_forward: bool) -> dict[str, Any]:
        first, last = span
        partition = change_key(0)["pk"]
        return {
            "TableName": self._table,
            "KeyConditionExpression": _SPAN,
            "ExpressionAttributeValues": {":pk": partition, ":first": {"S": first}, ":last": {"S": last}},
            "ConsistentRead": True,
            "ScanIndexForward": is_forward,
            "Limit": limit,
        }


def _sort_key(number: int) -> str:
    return str(change_key(number)["sk"]["S"])
