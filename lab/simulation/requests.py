"""Signed calls as bytes; equal calls of several simulations are signed once."""

import functools
import json
from dataclasses import dataclass

from tests.support.signing import Signer
from tests.support.wire import head

STARTED_AT_MS = 1_795_132_800_000
"""The wall clock at the start; a simulation ends before signatures of that time expire."""

HOST = "http://kvs.example.com"


@dataclass(frozen=True)
class Table:
    """A table declared in the simulated region."""

    environment: str
    name: str

    @property
    def token(self) -> str:
        return f"token-of-{self.environment}-{self.name}"


TABLES = (Table("shop", "carts"), Table("shop", "sessions"), Table("blog", "posts"))


COUNTERS = ("m", "n")
"""Keys that hold integers; all others hold values of puts."""

ABSENT = "absent"
"""The condition of a put: there is no entry. Other conditions are a tag in quotes, or `*`."""


@dataclass(frozen=True)
class Request:
    """One call; a put's `number` is unique within its simulation."""

    operation: str
    table: Table
    key: str = ""
    number: int | None = None
    flaw: str | None = None
    condition: str | None = None
    by: int | None = None
    cursor: str | None = None
    limit: int | None = None
    parts: tuple["Request", ...] = ()

    @property
    def cost(self) -> int:
        """The number of requests that the call is charged for; a malformed batch is charged as one."""
        return len(self.parts) if self.parts and self.flaw is None else 1

    @property
    def writes(self) -> tuple["Request", ...]:
        """Returns the operations that change entries."""
        return tuple(each for each in self.parts or (self,) if each.operation not in ("get", "list"))

    @property
    def value(self) -> bytes:
        return json.dumps([self.table.environment, self.table.name, self.key, self.number]).encode()

    @property
    def written(self) -> bytes | None:
        """Returns what is stored after a put or delete."""
        return self.value if self.operation == "put" else None


def wire_of(request: Request) -> bytes:
    """Builds the bytes of a call. `flaw`: a wrong `token`, a wrong `secret`, or a malformed `body`."""
    body = body_of(request)
    body = body[:-1] if request.flaw == "body" else body
    token = "token-of-nobody" if request.flaw == "token" else request.table.token
    is_tagged = any(each.condition for each in request.parts)
    signed = (_signed.__wrapped__ if is_tagged else _signed)(
        request.operation, body, token, "wrong" if request.flaw == "secret" else None
    )
    fields = [*signed, *condition_fields(request), ("Content-Length", len(body))]
    return head(f"/v1/{request.operation}", fields) + body


@functools.cache
def _signed(operation: str, body: bytes, token: str, secret: str | None) -> tuple[tuple[str, str], ...]:
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {token}"}
    signer = Signer() if secret is None else Signer(secret_access_key=secret)
    return tuple(signer.sign(f"{HOST}/v1/{operation}", body, fields, at_seconds=STARTED_AT_MS / 1000).items())


def body_of(request: Request) -> bytes:
    if request.parts:
        return b'{"operations": [%b]}' % b", ".join(map(_part, request.parts))
    if request.operation == "list":
        fields = {"values": True, "limit": request.limit, "cursor": request.cursor}
        return json.dumps(fields).encode()
    return b"{%b}" % _fields(request)


def _part(request: Request) -> bytes:
    condition = b""
    for field, tag in condition_fields(request):
        name = {"If-Match": "ifMatch", "If-None-Match": "ifNoneMatch"}[field]
        condition += f', "{name}": {json.dumps(tag)}'.encode()
    return b'{"op": "%b", %b%b}' % (request.operation.encode(), _fields(request), condition)


def _fields(request: Request) -> bytes:
    fields = b'"key": "%b"' % request.key.encode()
    if request.number is not None:
        fields += b', "value": ' + request.value
    return fields if request.by is None else fields + b', "by": %d' % request.by


def condition_fields(request: Request) -> list[tuple[str, str]]:
    if request.condition is None:
        return []
    return [("If-None-Match", "*") if request.condition == ABSENT else ("If-Match", request.condition)]
