"""A request of ours to a server that answers in JSON. Bounded in bytes; the caller sets a deadline."""

from collections.abc import Mapping

import aiohttp

_FIELDS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class NoAnswer(Exception):
    """What the server does instead of answering with a 200; nothing of what came is quoted."""


class TooLongAnswer(NoAnswer):
    """It sends more than was allowed."""


async def ask(url: str, form: Mapping[str, str] | None = None, *, most_bytes: int) -> bytes:
    """The body of the 200 to a GET, or to a POST of the form. Raises NoAnswer.

    No redirection is followed, no proxy asked, nothing decompressed.
    """
    body = bytearray()
    method = "GET" if form is None else "POST"
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session,
            session.request(method, url, data=form, allow_redirects=False, headers=_FIELDS) as response,
        ):
            if response.status != 200:
                raise NoAnswer(f"answers {response.status}")
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > most_bytes:
                    raise TooLongAnswer(f"answers with more than {most_bytes} bytes")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NoAnswer(f"does not answer: {type(error).__name__}") from None
    return bytes(body)
