"""Requests and responses as bytes, for what an HTTP client would not send or would not show."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from tests.support.config import TABLE_TOKEN
from tests.support.gateway import Reply
from tests.support.stopwatch import PATIENCE_SECONDS

CLOSE = ("Connection", "close")


class WireReply(Reply):
    """One response off the wire; header names are in lower case."""

    @property
    def closes(self) -> bool:
        return self.headers.get("connection") == "close"


def head(
    target: str | bytes, fields: Iterable[tuple[str, Any]], *, method: str = "POST", version: str = "1.1"
) -> bytes:
    """Request line and fields, with the empty line that ends them."""
    wire_target = target.encode() if isinstance(target, str) else target
    lines = [method.encode() + b" " + wire_target + b" HTTP/" + version.encode()]
    for name, value in fields:
        lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else str(value).encode()))
    return b"\r\n".join([*lines, b"", b""])


def chunked(body: bytes, size: int = 16_384) -> bytes:
    """`body` in chunks, with the last one."""
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def signed_fields(
    gateway,
    body: bytes,
    path: str,
    *,
    token: str | None = TABLE_TOKEN,
    content_type: str | None = "application/json",
) -> list[tuple[str, str]]:
    """The fields of a signed call of `path`, without the body's length."""
    fields = {}
    if content_type is not None:
        fields["Content-Type"] = content_type
    if token is not None:
        fields["X-KVS-Authorization"] = f"Bearer {token}"
    signed = gateway.signer.sign(gateway.data + path, body, fields, at_seconds=gateway.clock.wall_ms() / 1000)
    return list(signed.items())


def signed_call(
    gateway,
    operation: str,
    body: bytes,
    *,
    extra: Iterable[tuple[str, Any]] = (CLOSE,),
    in_chunks: bool = False,
    **options,
) -> bytes:
    """A whole signed call; `extra` fields are not signed."""
    path = f"/v1/{operation}"
    length = ("Transfer-Encoding", "chunked") if in_chunks else ("Content-Length", len(body))
    fields = [*signed_fields(gateway, body, path, **options), length, *extra]
    return head(path, fields) + (chunked(body) if in_chunks else body)


def parse_replies(data: bytes) -> list[WireReply]:
    """The responses in `data`, which holds nothing else (interim `100 Continue` included)."""
    replies = []
    while data:
        top, separator, data = data.partition(b"\r\n\r\n")
        assert separator, top
        first, *lines = top.decode("ascii").split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1"
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", 0))
        replies.append(WireReply(int(status), headers, data[:length]))
        data = data[length:]
    return replies


async def read_reply(reader: asyncio.StreamReader, seconds: float = PATIENCE_SECONDS) -> WireReply:
    """The next response on a connection that stays open."""
    async with asyncio.timeout(seconds):
        top = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in top.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return parse_replies(top + await reader.readexactly(length))[0]


async def send_one(gateway, data: bytes, seconds: float = PATIENCE_SECONDS) -> WireReply:
    """The one response to `data`; the connection must be one that the server closes."""
    (reply,) = parse_replies(await gateway.send_raw(data, seconds=seconds))
    return reply


async def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Polls for a condition that no event signals."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition may be the kernel's
            await asyncio.sleep(0.001)
