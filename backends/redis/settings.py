"""What `kind: redis` can be set to."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from backends.interface import AdapterSettings
from backends.redis.url import InvalidUrl, parse_url


class RedisSettings(AdapterSettings, frozen=True, kw_only=True, tag="redis"):
    """Redis 6.2 or newer; the forms of `url` are in `backends.redis.url`."""

    url: str
    prefix: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:/-]{1,64}\Z")] = "kvs"
    ca_file: str | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        try:
            url = parse_url(self.url)
        except InvalidUrl as mistake:
            yield "url", str(mistake)
            return
        if self.ca_file is None:
            return
        if not url.is_tls:
            yield "ca_file", "is for a url that begins with rediss"
            return
        if not _is_authority(self.ca_file):
            yield "ca_file", "names a file that cannot be read, or holds no certificate"


def _is_authority(ca_file: str) -> bool:
    try:
        if not Path(ca_file).is_file():  # reading a pipe would block
            return False
        ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):  # what is no certificate is an SSLError; a NUL is no part of a path
        return False
    return True
