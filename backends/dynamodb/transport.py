"""One signed POST (D122). Any callable of type `Post` can replace the transport.

Signing implements the part of AWS Signature V4 that a POST of DynamoDB's JSON protocol needs: path `/`, no
query, a fixed list of headers
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
"""

import hmac
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from typing import Any

from aiohttp import (
    AddrInfoType,
    ClientConnectorError,
    ClientError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.connector import Connection
from msgspec import Struct

from backends.sockets import drop_unacknowledged, reset_when_closed

_ALGORITHM = "AWS4-HMAC-SHA256"
_TARGET_PREFIX = "DynamoDB_20120810."


class AwsCredentials(Struct, frozen=True):
    """Signing credentials. `token` is None for permanent ones."""

    access_key_id: str
    secret: str
    token: str | None

    def __repr__(self) -> str:
        return "AwsCredentials(...)"


class Signer:
    """Signs requests for one region and host, at the time of `wall_ms`."""

    def __init__(self, region: str, host: str, wall_ms: Callable[[], int]) -> None:
        self._region = region
        self._host = host
        self._wall_ms = wall_ms

    def headers(self, credentials: AwsCredentials, action: str, body: bytes) -> dict[str, str]:
        """Returns all headers of a request."""
        instant = strftime("%Y%m%dT%H%M%SZ", gmtime(self._wall_ms() // 1000))
        headers = {"host": self._host, "x-amz-date": instant}
        if credentials.token is not None:
            headers["x-amz-security-token"] = credentials.token
        headers["x-amz-target"] = _TARGET_PREFIX + action
        names = ";".join(headers)
        fields = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in headers.items())
        canonical = f"POST\n/\n\n{fields}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{instant[:8]}/{self._region}/dynamodb/aws4_request"
        text = f"{_ALGORITHM}\n{instant}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        key = _signing_key(credentials.secret, instant[:8], self._region)
        headers["authorization"] = (
            f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, "
            f"SignedHeaders={names}, Signature={_hmac(key, text).hex()}"
        )
        headers["content-type"] = "application/x-amz-json-1.0"
        return headers


@lru_cache(maxsize=8)
def _signing_key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "dynamodb", "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


class HttpReply(Struct, frozen=True):
    """HTTP status, declared checksum and date (None if absent), and the raw body."""

    status: int
    crc32: str | None
    body: bytes
    date: str | None = None


class TooLarge(Exception):
    """The reply exceeds `LARGEST_REPLY_BYTES`."""


class NotReached(Exception):
    """No connection could be made, so nothing was sent."""


class ConnectionBroken(Exception):
    """The connection ended before the reply did; the request may have been executed."""


LARGEST_REPLY_BYTES = 4 * 1024 * 1024
"""A page of a Query is 1 MB; base64 and attribute names do not double it."""

Post = Callable[[Mapping[str, str], bytes, float], Awaitable[HttpReply]]
"""Sends headers and body, unless the given time of the loop has passed, and returns the reply.

Can be cancelled. Raises NotReached, ConnectionBroken, TooLarge.
"""


_due: ContextVar[float] = ContextVar("due")


class _PromptRequest(ClientRequest):
    """A request that is not sent late: the process may have stood still before it got its connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._due = _due.get()

    async def send(self, conn: Connection) -> ClientResponse:
        if self.loop.time() > self._due:
            raise NotReached
        return await super().send(conn)


class AiohttpTransport:
    """A `Post` on a connection pool. aiohttp never repeats a POST by itself."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = ClientSession(
            connector=TCPConnector(limit=0, ssl=ssl.create_default_context(), socket_factory=_open_socket),
            request_class=_PromptRequest,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )

    async def post(self, headers: Mapping[str, str], body: bytes, due: float) -> HttpReply:
        if self._session.closed:
            raise ConnectionBroken
        _due.set(due)
        try:
            async with self._session.post(
                self._url, headers=headers, data=body, allow_redirects=False
            ) as reply:
                headers = reply.headers
                return HttpReply(
                    reply.status, headers.get("x-amz-crc32"), await _body(reply), headers.get("Date")
                )
        except ClientConnectorError:
            raise NotReached from None
        except (ClientError, OSError):
            raise ConnectionBroken from None

    async def close(self) -> None:
        """Closes all connections; idempotent."""
        await self._session.close()


def _open_socket(address: AddrInfoType) -> socket.socket:
    """Opens a socket that is reset on close: a healthy connection has no bytes left to deliver then."""
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.settimeout(0)
    drop_unacknowledged(opened)
    reset_when_closed(opened)
    return opened


async def _body(reply: ClientResponse) -> bytes:
    """Reads a body. Raises TooLarge before it has buffered more than the bound."""
    announced = reply.content_length
    if announced is not None and announced <= LARGEST_REPLY_BYTES:
        return await reply.read()
    body = bytearray()
    async for part in reply.content.iter_any():
        body += part
        if len(body) > LARGEST_REPLY_BYTES:
            raise TooLarge
    return bytes(body)
