"""The sources of issuers' signing keys: a JWKS lies at a URL or in a file."""

import asyncio
import os
import stat

from gateway.config.settings import is_url
from gateway.http.client import FetchError, fetch
from gateway.identity.issuer_keys import FetchFailed
from gateway.identity.keys import MOST_BYTES

_FETCH_SECONDS = 10.0


async def fetch_keys(source: str) -> bytes:
    """Fetches a JWKS from a URL or a file, bounded in size and time. Raises FetchFailed."""
    if not is_url(source):
        return await asyncio.to_thread(_read, source)
    try:
        async with asyncio.timeout(_FETCH_SECONDS):
            return await fetch(source, max_bytes=MOST_BYTES)
    except FetchError as error:
        raise FetchFailed(f"the server {error}") from None
    except TimeoutError:
        raise FetchFailed(f"the server does not answer within {_FETCH_SECONDS:.0f} s") from None


def _read(file: str) -> bytes:
    """Reads a regular file. Anything else is refused: reading a pipe would block."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise FetchFailed("it is not a regular file")
            return opened.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise FetchFailed("the file cannot be read") from None
