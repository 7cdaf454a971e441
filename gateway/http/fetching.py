"""What lies at a place that others write to: a URL, or a file. Bounded in bytes and in time."""

import asyncio
import os
import stat

import aiohttp

from gateway.config.settings import is_url
from gateway.identity.issuer_keys import FetchFailed
from gateway.identity.keys import MOST_BYTES

_SECONDS = 10.0
_FIELDS = {"Accept": "application/json", "Accept-Encoding": "identity"}


async def fetch_keys(place: str) -> bytes:
    """What should be the keys of an issuer. Raises FetchFailed."""
    if not is_url(place):
        return await asyncio.to_thread(_read, place)
    try:
        return await _get(place)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise FetchFailed(type(error).__name__) from None


async def _get(url: str) -> bytes:
    """No redirection is followed, no proxy asked, nothing decompressed."""
    body = bytearray()
    async with (
        aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        ) as session,
        session.get(url, allow_redirects=False, headers=_FIELDS) as response,
    ):
        if response.status != 200:
            raise FetchFailed(f"the answer is {response.status}")
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > MOST_BYTES:
                raise FetchFailed(f"the answer has more than {MOST_BYTES} bytes")
    return bytes(body)


def _read(file: str) -> bytes:
    """Of a regular file: reading a pipe would block."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise FetchFailed("the file is none")
            return opened.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise FetchFailed("the file cannot be read") from None
