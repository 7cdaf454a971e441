"""A call as it was received, and its header fields."""

from collections.abc import Collection
from typing import Protocol

from msgspec import Struct

from gateway.domain.errors import InvalidToken
from gateway.domain.model import Operation

_NONE: frozenset[bytes] = frozenset()


class Headers(dict[bytes, bytes]):
    """Values as bytes by lower-case name, without surrounding white space.

    Values of a repeated field are joined by commas, the form that signatures cover; `repeated` names such
    fields. `dropped` names fields that were sent but are not accepted from their sender.
    """

    __slots__ = ("repeated",)

    dropped: Collection[bytes] = _NONE

    def __init__(self, fields: Collection[tuple[bytes, bytes]]) -> None:
        for field, value in fields:
            self[field.lower()] = value.strip()
        self.repeated = _NONE
        if len(self) < len(fields):
            self._join(fields)

    def __repr__(self) -> str:
        """Shows names only, because some values are secrets."""
        return f"Headers({sorted(self)})"

    def bearer_token(self, name: bytes, title: str, token_name: str) -> bytes | None:
        """Returns the token in a field `Bearer <token>`, or None if the field is absent. Raises InvalidToken.

        Refusals call the field `title` and the token `token_name`. The token may be empty.
        """
        field = self.get(name)
        if not field:
            return None
        if name in self.repeated:
            raise InvalidToken(f"{title}: sent more than once")
        scheme, _, token = field.partition(b" ")
        if scheme.lower() != b"bearer":
            raise InvalidToken(f"{title}: must be Bearer, a space and {token_name}")
        return token.strip()

    def without(self, *names: bytes) -> "Headers":
        """Returns the fields without `names`, which become `dropped`."""
        rest = _PartOfHeaders([(name, value) for name, value in self.items() if name not in names])
        rest.repeated = self.repeated.difference(names)
        rest.dropped = self.keys() & names
        return rest

    def _join(self, fields: Collection[tuple[bytes, bytes]]) -> None:
        values: dict[bytes, list[bytes]] = {}
        for field, value in fields:
            values.setdefault(field.lower(), []).append(value.strip())
        self.update((name, b",".join(each)) for name, each in values.items())
        self.repeated = frozenset(name for name, each in values.items() if len(each) > 1)


class _PartOfHeaders(Headers):
    """Headers with dropped fields. Most requests drop none and should not pay for the attribute."""

    __slots__ = ("dropped",)


class Attempt(Protocol):
    """The client's attempt that a call belongs to."""

    def may_write(self) -> bool:
        """Tests whether a write may begin now: the client may still be waiting for it."""
        ...


class _Endless:
    """An attempt without a client."""

    def may_write(self) -> bool:
        return True


ENDLESS: Attempt = _Endless()


class Call(Struct, frozen=True, gc=False):
    """One received request: `target` and `body` are the bytes on the wire."""

    operation: Operation
    target: bytes
    headers: Headers
    body: bytes
    peer: str
    attempt: Attempt = ENDLESS
