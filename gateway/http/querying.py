"""A form sent to a server that answers in JSON. Bounded in bytes; the caller sets a deadline."""

from collections.abc import Mapping

import aiohttp

from gateway.domain.errors import UsageUnavailable

_FIELDS = {"Accept": "application/json", "Accept-Encoding": "identity"}


async def post_form(url: str, form: Mapping[str, str], *, most_bytes: int) -> bytes:
    """The body of a 200. No redirection is followed, no proxy asked, nothing decompressed.

    Raises UsageUnavailable, which quotes nothing of what came.
    """
    body = bytearray()
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False) as session,
            session.post(url, data=form, allow_redirects=False, headers=_FIELDS) as response,
        ):
            if response.status != 200:
                raise UsageUnavailable(f"Prometheus answers {response.status}")
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > most_bytes:
                    raise UsageUnavailable(
                        f"Prometheus answers with more than {most_bytes} bytes; ask for one table, ?table="
                    )
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise UsageUnavailable(f"Prometheus does not answer: {type(error).__name__}") from None
    return bytes(body)
