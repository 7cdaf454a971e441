"""DynamoDB's answers, decoded by type."""

from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from backends.dynamodb.client import Action, Client
from backends.errors import BackendUnavailable, CorruptEntry

Kind = TypeVar("Kind")
Item = TypeVar("Item")


class Text(Struct, frozen=True):
    """A string attribute."""

    value: str = field(name="S")


class Number(Struct, frozen=True):
    """A number attribute, always whole here."""

    digits: str = field(name="N")

    def __int__(self) -> int:
        try:
            return int(self.digits)
        except ValueError:
            raise CorruptEntry("a number in DynamoDB was not written by this gateway") from None


class Binary(Struct, frozen=True):
    """A binary attribute; DynamoDB sends it in base64."""

    value: bytes = field(name="B")


class Found(Struct, Generic[Item], frozen=True):
    """The answer to GetItem."""

    item: Item | None = field(name="Item", default=None)


class Updated(Struct, Generic[Item], frozen=True):
    """The answer to UpdateItem."""

    attributes: Item = field(name="Attributes")


class Page(Struct, Generic[Item], frozen=True):
    """The answer to Query; `last` is where the next page begins."""

    items: list[Item] = field(name="Items")
    last: Raw = field(name="LastEvaluatedKey", default=Raw())


def decode(body: bytes | Raw, kind: type[Kind]) -> Kind:
    """A `body` as `kind`. Raises CorruptEntry for what this gateway cannot have written."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise CorruptEntry("an item in DynamoDB was not written by this gateway") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BackendUnavailable("what answers there does not speak as DynamoDB does") from None


async def query(client: Client, request: dict[str, Any], page: type[Page[Item]]) -> AsyncIterator[list[Item]]:
    """All pages of a Query. Raises BackendError."""
    while True:
        found = decode(await client.call(Action.QUERY, request), page)
        yield found.items
        if not bytes(found.last):
            return
        request = {**request, "ExclusiveStartKey": found.last}
