"""Requests of the gateway to other servers: a JWKS endpoint, Prometheus."""

import socket
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp.connector import Connection

_RECEIVE_BYTES = 16_384
"""Receive buffer of a connection, which Linux doubles. It bounds the heads that are parsed at once: a loop
reads 256 KiB otherwise, which is 14,000 informational responses."""

_MAX_HEADS = 16
"""Heads of one response: the final one, and informational ones before it."""

_FIELDS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class FetchError(Exception):
    """The server gave no usable response.

    The text is a predicate, to be put after the server's name, and quotes nothing of the response.
    """


class ResponseTooLarge(FetchError):
    """The server sent more bytes than the caller allows."""


async def fetch(url: str, form: Mapping[str, str] | None = None, *, max_bytes: int) -> bytes:
    """Sends a GET, or a POST of the form, and returns the body of the 200. Raises FetchError.

    Follows no redirect, uses no proxy, and decompresses nothing. Bounded in bytes; the caller sets
    a deadline.
    """
    body = bytearray()
    method = "GET" if form is None else "POST"
    try:
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(socket_factory=_socket),
                response_class=_Response,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            ) as session,
            session.request(method, url, data=form, allow_redirects=False, headers=_FIELDS) as response,
        ):
            if response.status != 200:
                raise FetchError(f"answers {response.status}")
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > max_bytes:
                    raise ResponseTooLarge(f"answers with more than {max_bytes} bytes")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise FetchError(f"does not answer: {type(error).__name__}") from None
    return bytes(body)


class _Response(aiohttp.ClientResponse):
    """A response that skips a few informational ones; aiohttp skips any number of them."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Reads the head."""
        protocol, left = connection.protocol, _MAX_HEADS
        if protocol is None:
            raise aiohttp.ClientConnectionError
        read = protocol.read

        async def read_one() -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise aiohttp.ClientPayloadError
            return await read()

        protocol.read = read_one  # type: ignore[method-assign]
        return await super().start(connection)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, *_ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
    return connection
