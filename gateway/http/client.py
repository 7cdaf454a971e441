"""What lies at a place that others write to: a URL, or a file. Bounded in bytes and in time."""

import asyncio
import os
import stat

from gateway.config.settings import is_url
from gateway.http.asking import NoAnswer, ask
from gateway.identity.issuer_keys import FetchFailed
from gateway.identity.keys import MOST_BYTES

_SECONDS = 10.0


async def fetch_keys(place: str) -> bytes:
    """What should be the keys of an issuer. Raises FetchFailed."""
    if not is_url(place):
        return await asyncio.to_thread(_read, place)
    try:
        async with asyncio.timeout(_SECONDS):
            return await ask(place, most_bytes=MOST_BYTES)
    except NoAnswer as fault:
        raise FetchFailed(f"the server {fault}") from None
    except TimeoutError:
        raise FetchFailed(f"the server does not answer within {_SECONDS:.0f} s") from None


def _read(file: str) -> bytes:
    """Of a regular file: reading a pipe would block."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise FetchFailed("the file is none")
            return opened.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise FetchFailed("the file cannot be read") from None
