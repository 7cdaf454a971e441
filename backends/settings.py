"""What each store can be set to, in YAML under `store:` and `counters:`."""

import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from backends.redis.url import InvalidUrl, parse_url


class _Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What it holds is not shown: some of it is secret."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are of the right shape and yet impossible, and why."""
        yield from ()


class MemorySettings(_Settings, frozen=True, kw_only=True, tag="memory"):
    """Entries inside the process: for one replica, lost when it ends."""

    max_bytes: Annotated[int, Meta(ge=1, le=2**50)] = 268_435_456


class RedisSettings(_Settings, frozen=True, kw_only=True, tag="redis"):
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


class DynamoSettings(_Settings, frozen=True, kw_only=True, tag="dynamodb"):
    """One table; credentials are found as AWS SDKs find them."""

    table: Annotated[
        str, Meta(pattern=r"^(arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/)?[A-Za-z0-9._-]{3,255}\Z")
    ]
    region: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,64}\Z")]
    endpoint_url: Annotated[str, Meta(pattern=r"^https?://[A-Za-z0-9.:\[\]-]+/?\Z")] | None = None
    create_table: bool = False
    strong_reads: bool = True

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.endpoint_url is not None and not _names_a_host(self.endpoint_url):
            yield "endpoint_url", "expected a URL like http://127.0.0.1:8000"
        if self.table.startswith("arn:") and self.table.split(":")[3] != self.region:
            yield "table", "is in another region"


def _is_authority(ca_file: str) -> bool:
    try:
        if not Path(ca_file).is_file():  # a pipe would be waited for
            return False
        ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):  # what is no certificate is an SSLError; a NUL is no part of a path
        return False
    return True


def _names_a_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(re.search("[A-Za-z0-9]", parts.hostname or "")) and parts.port != 0
    except ValueError:
        return False


StoreSettings = MemorySettings | RedisSettings | DynamoSettings
