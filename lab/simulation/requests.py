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


@dataclass(frozen=True)
class Request:
    """One call; a put's `number` is unique within its simulation."""

    operation: str
    table: Table
    key: str
    number: int | None = None
    flaw: str | None = None

    @property
    def cost(self) -> int:
        """The number of requests that the call is charged for."""
        return 1

    @property
    def value(self) -> bytes:
        return json.dumps([self.table.environment, self.table.name, self.key, self.number]).encode()


@functools.cache
def wire_of(request: Request) -> bytes:
    """Builds the bytes of a call. `flaw`: a wrong `token`, a wrong `secret`, or a malformed `body`."""
    body = b'{"key": "%s"' % request.key.encode()
    if request.number is not None:
        body += b', "value": ' + request.value
    body += b"" if request.flaw == "body" else b"}"
    token = "token-of-nobody" if request.flaw == "token" else request.table.token
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {token}"}
    signer = Signer(secret_access_key="wrong") if request.flaw == "secret" else Signer()
    path = f"/v1/{request.operation}"
    signed = signer.sign(HOST + path, body, fields, at_seconds=STARTED_AT_MS / 1000)
    return head(path, [*signed.items(), ("Content-Length", len(body))]) + body
