"""The settings of `kind: redis`."""

import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from backends.backend import AdapterSettings
from backends.redis.wire.url import InvalidUrl, Layout, parse_url


class SentinelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Credentials for the sentinels; its repr shows none of them."""

    password: Annotated[str, Meta(min_length=1)]
    username: str | None = None

    def __repr__(self) -> str:
        return "SentinelSettings(...)"


class RedisSettings(AdapterSettings, frozen=True, kw_only=True, tag="redis"):
    """Redis 6.2 or newer; the forms of `url` are in `backends.redis.wire.url`."""

    url: str
    prefix: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9._:/-]{1,64}\Z", description="letters, digits and . _ : / -, at most 64"),
    ] = "kvs"
    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    sentinel: SentinelSettings | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        try:
            url = parse_url(self.url)
        except InvalidUrl as mistake:
            yield "url", str(mistake)
            return
        if self.sentinel is not None and url.layout is not Layout.SENTINEL:
            yield "sentinel", "needs a url that begins with redis+sentinel or rediss+sentinel"
        files = {"ca_file": self.ca_file, "certificate": self.certificate, "key": self.key}
        given = [name for name, file in files.items() if file is not None]
        if not url.is_tls:
            yield from ((name, "needs a url that begins with rediss") for name in given)
            return
        if (self.certificate is None) != (self.key is None):
            given_one, missing = ("certificate", "key") if self.key is None else ("key", "certificate")
            yield given_one, f"needs {missing} as well"

    def mistakes_of_files(self) -> Iterator[tuple[str, str]]:
        if self.ca_file is not None and not _is_authority(self.ca_file):
            yield "ca_file", "names a file that cannot be read, or holds no certificate"
        if self.certificate is not None and self.key is not None and not _is_pair(self.certificate, self.key):
            yield (
                "certificate",
                "does not name a certificate in PEM that matches the unencrypted key in `key`",
            )

    def secrets(self) -> Iterator[tuple[str, str]]:
        with suppress(InvalidUrl):
            if password := parse_url(self.url).password:
                yield "url", password
        if self.sentinel is not None:
            yield "sentinel.password", self.sentinel.password

    def tls_context(self) -> ssl.SSLContext:
        """Builds a context from what the files hold now. Raises OSError or ValueError for unusable files."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.certificate is not None:
            context.load_cert_chain(
                self.certificate, self.key, password=""
            )  # without one OpenSSL prompts for it
        return context


def _is_authority(ca_file: str) -> bool:
    try:
        if not Path(ca_file).is_file():  # reading a pipe would block
            return False
        ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):  # SSLError, an OSError: no certificate; ValueError: a NUL in the path
        return False
    return True


def _is_pair(certificate: str, key: str | None) -> bool:
    try:
        if key is None or not (Path(certificate).is_file() and Path(key).is_file()):
            return False
        ssl.create_default_context().load_cert_chain(certificate, key, password="")
    except (OSError, ValueError):
        return False
    return True
