"""One POST (D122). Whatever keeps this shape can take its place."""

import ssl
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import ClientConnectorError, ClientError, ClientSession, DummyCookieJar, TCPConnector
from msgspec import Struct


class Answer(Struct, frozen=True):
    """Status, the checksum that was declared (None: none was), and the body as it came."""

    status: int
    crc32: str | None
    body: bytes


class NotReached(Exception):
    """Nothing was sent: no connection could be made."""


class Broken(Exception):
    """The connection ended before the answer did; the request may have been carried out."""


Post = Callable[[Mapping[str, str], bytes], Awaitable[Answer]]
"""Sends headers and body, returns the answer. Raises NotReached or Broken. May be cancelled."""


class AiohttpTransport:
    """A `Post` on a pool of connections. aiohttp does not repeat a POST by itself.

    `date` is what the last answer gave as its time.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.date: str | None = None
        self._session = ClientSession(
            connector=TCPConnector(limit=0, ssl=ssl.create_default_context()),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        if self._session.closed:
            raise Broken
        try:
            async with self._session.post(
                self._url, headers=headers, data=body, allow_redirects=False
            ) as answer:
                self.date = answer.headers.get("Date")
                return Answer(answer.status, answer.headers.get("x-amz-crc32"), await answer.read())
        except ClientConnectorError:
            raise NotReached from None
        except (ClientError, OSError):
            raise Broken from None

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        await self._session.close()
