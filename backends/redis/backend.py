"""The three ports on Redis."""

import ssl
from functools import partial
from typing import assert_never

from backends.breaker import Breaker
from backends.clock import Clock
from backends.errors import StoreFull
from backends.redis.connection import Connection
from backends.redis.counters import RedisWindowCounter
from backends.redis.dialing import Access, dial, refuse_replica, warn_of_eviction
from backends.redis.discovery import find_master
from backends.redis.entries import RedisEntryStore
from backends.redis.keys import Keys
from backends.redis.records import RedisRecordStore
from backends.redis.server import Server
from backends.redis.topology import ClusterOfMasters, OneMaster, Topology
from backends.redis.url import Address, Layout, RedisUrl, parse_url
from backends.settings import RedisSettings

_PING_TTL_MS = 5000


class RedisBackend:
    """Any number of replicas may open the same one. Connecting begins at once, in the background."""

    name = "redis"

    def __init__(self, settings: RedisSettings, clock: Clock) -> None:
        url = parse_url(settings.url)
        self._topology = _topology(url, settings.ca_file, clock)
        self._keys = Keys(settings.prefix)
        self.entries = RedisEntryStore(self._topology, self._keys, clock.wall_ms)
        self.counters = RedisWindowCounter(self._topology, self._keys)
        self.records = RedisRecordStore(self._topology, self._keys)

    async def ping(self) -> None:
        """Write something, too: a replica, or a server that cannot save, answers PING and serves nobody."""
        await self._topology.ping()
        try:
            await self._topology.call(self._keys.ping, "SET", self._keys.ping, "", "PX", _PING_TTL_MS)
        except StoreFull:
            return  # only puts are refused then

    async def close(self) -> None:
        await self._topology.close()


def _topology(url: RedisUrl, ca_file: str | None, clock: Clock) -> Topology:
    tls = ssl.create_default_context(cafile=ca_file) if url.is_tls else None
    access = Access(url.user, url.password, url.database, tls)
    anonymous = Access("", "", 0, tls)

    async def dial_at(address: Address) -> tuple[Address, Connection]:
        return address, await dial(address, access, warn_of_eviction)

    async def dial_master() -> tuple[Address, Connection]:
        address = await find_master(url.master, url.addresses, partial(dial, access=anonymous))
        return address, await dial(address, access, refuse_replica, warn_of_eviction)

    new_breaker = partial(Breaker, clock.monotonic_ms)
    match url.layout:
        case Layout.STANDALONE:
            (address,) = url.addresses
            return OneMaster(Server(str(address), partial(dial_at, address), new_breaker()))
        case Layout.SENTINEL:
            return OneMaster(Server(f"master {url.master}", dial_master, new_breaker()))
        case Layout.CLUSTER:
            return ClusterOfMasters(url.addresses, partial(dial, access=access), dial_at, new_breaker)
        case _ as unreachable:
            assert_never(unreachable)
