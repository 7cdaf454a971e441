"""Requests of the gateway to other servers: a JWKS endpoint, Prometheus."""

from collections.abc import Mapping

import aiohttp

_FIELDS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class FetchError(Exception):
    """The server gave no usable response.

    The text is a predicate, to be put behind the server's name, and quotes nothing of the response.
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
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session,
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
