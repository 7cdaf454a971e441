"""Who serves what, asked of sentinels and of the nodes of a cluster, through redis-py."""

from collections.abc import Iterable
from typing import Any

from redis.asyncio import Redis, Sentinel
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from backends.errors import BackendUnavailable
from backends.redis.connection import DEADLINE_SECONDS
from backends.redis.url import Address, RedisUrl

SLOTS = 16_384

Owners = list[Address | None]
"""The master of each slot of a cluster; None where a slot has none."""


class Sentinels:
    """The sentinels of one master."""

    def __init__(self, url: RedisUrl, ca_file: str | None) -> None:
        self._master = url.master
        self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
            [(address.host, address.port) for address in url.addresses],
            sentinel_kwargs=_options(url, ca_file),
        )

    async def master(self) -> Address:
        """Where the master is now. Raises BackendUnavailable."""
        try:
            host, port = await self._sentinel.discover_master(self._master)
        except (RedisError, OSError):
            raise BackendUnavailable("no sentinel answers that knows where its master is") from None
        return Address(host, port)

    async def close(self) -> None:
        """Give the connections back."""
        await self._sentinel.aclose()


async def find_owners(nodes: Iterable[Address], url: RedisUrl, ca_file: str | None) -> Owners:
    """Which master serves each slot, by the first of `nodes` that answers. Raises BackendUnavailable."""
    for node in nodes:
        client = Redis(
            host=node.host,
            port=node.port,
            username=url.user or None,
            password=url.password or None,
            **_options(url, ca_file),
        )
        try:
            return _owners(await client.execute_command("CLUSTER", "SLOTS"), node)  # type: ignore[no-untyped-call]
        except (RedisError, OSError):
            continue
        finally:
            await client.aclose()
    raise BackendUnavailable("no node of the cluster answers that knows who serves what")


def _owners(ranges: list[list[Any]], asked: Address) -> Owners:
    """From `[[first, last, [host, port, id], [a replica], ...], ...]`; a node may leave out its own host."""
    owners: Owners = [None] * SLOTS
    for first, last, (host, port, *_), *_ in ranges:
        owner = Address(host.decode() if host else asked.host, port)
        owners[first : last + 1] = [owner] * (last + 1 - first)
    return owners


def _options(url: RedisUrl, ca_file: str | None) -> dict[str, Any]:
    """As impatient as every other call, and as strict about certificates."""
    options: dict[str, Any] = {
        "socket_timeout": DEADLINE_SECONDS,
        "socket_connect_timeout": DEADLINE_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
    }
    if url.is_tls:
        options |= {"ssl": True, "ssl_ca_certs": ca_file}
    return options
