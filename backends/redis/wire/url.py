"""The forms of a Redis URL.

redis://[user:password@]host[:6379][/db]
redis+sentinel://[user:password@]host[:26379],host,…/master[/db]
redis+cluster://[user:password@]host[:6379],host,…

Each form also exists as `rediss…`, for TLS. User and password are percent-encoded. They are for the Redis
servers; sentinels have settings of their own.
"""

import re
from enum import Enum
from urllib.parse import unquote

from msgspec import Struct

_SCHEME = re.compile(r"redis(?P<tls>s?)(?P<layout>|\+sentinel|\+cluster)")
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
_MASTER = re.compile(r"[A-Za-z0-9._-]+")
_NOT_ENCODED = re.compile("%(?![0-9A-Fa-f]{2})|@|[\ud800-\udfff]")
_DATABASE = re.compile(r"[0-9]{1,4}")


class InvalidUrl(ValueError):
    """A malformed URL; the message repeats no part of it."""


class Layout(Enum):
    """The kind of deployment: one server, one master behind Sentinel, or a cluster."""

    STANDALONE = ""
    SENTINEL = "+sentinel"
    CLUSTER = "+cluster"


class Address(Struct, frozen=True):
    """Host and port of one server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RedisUrl(Struct, frozen=True):
    """A parsed URL. `master` is the name that the sentinels know, empty for other layouts."""

    layout: Layout
    is_tls: bool
    user: str
    password: str
    addresses: tuple[Address, ...]
    master: str
    database: int

    def __repr__(self) -> str:
        return f"RedisUrl({self.layout.name}, ...)"


def parse_url(url: str) -> RedisUrl:
    """Parses a URL. Raises InvalidUrl."""
    scheme, separator, rest = url.partition("://")
    known = _SCHEME.fullmatch(scheme)
    if not separator or known is None:
        raise InvalidUrl("expected redis://, redis+sentinel:// or redis+cluster://, or rediss… for TLS")
    layout = Layout(known["layout"])
    authority, _, path = rest.partition("/")
    userinfo, _, hosts = authority.rpartition("@")
    user, password = _credentials(userinfo)
    addresses = tuple(_address(host, layout) for host in hosts.split(","))
    if layout is Layout.STANDALONE and len(addresses) > 1:
        raise InvalidUrl("names several hosts: use redis+sentinel:// or redis+cluster:// for them")
    master, database = _path(path, layout)
    return RedisUrl(layout, bool(known["tls"]), user, password, addresses, master, database)


def _credentials(userinfo: str) -> tuple[str, str]:
    user, separator, password = userinfo.partition(":")
    if userinfo and not (separator and password):
        raise InvalidUrl("has a user without a password: write user:password@host or :password@host")
    if _NOT_ENCODED.search(userinfo):
        raise InvalidUrl("has a user or password that is not percent-encoded")
    try:
        return unquote(user, errors="strict"), unquote(password, errors="strict")
    except UnicodeDecodeError:
        raise InvalidUrl("has a user or password that is not percent-encoded UTF-8") from None


def _address(text: str, layout: Layout) -> Address:
    host = _HOST.fullmatch(text)
    if host is None:
        raise InvalidUrl(
            "has a host that is not host:port, or a user or password that is not percent-encoded"
        )
    port = int(host["port"] or (26379 if layout is Layout.SENTINEL else 6379))
    if not 0 < port < 65536:
        raise InvalidUrl("has a port outside 1 to 65535")
    return Address(host["v6"] or host["name"], port)


def _path(path: str, layout: Layout) -> tuple[str, int]:
    master = ""
    if layout is Layout.SENTINEL:
        master, _, path = path.partition("/")
        if not _MASTER.fullmatch(master):
            raise InvalidUrl(
                "needs the name of the master after the hosts: redis+sentinel://host,host/master"
            )
    if not path:
        return master, 0
    if not _DATABASE.fullmatch(path):
        raise InvalidUrl("has a path after the hosts that is not a database number")
    database = int(path)
    if database and layout is Layout.CLUSTER:
        raise InvalidUrl("names a database: a cluster has only database 0")
    return master, database
