"""From a parsed URL to the topology that it names."""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from backends.breaker import Breaker
from backends.errors import BackendError
from backends.redis.topology.cluster import ClusterOfMasters
from backends.redis.topology.interface import Topology
from backends.redis.topology.one_master import MasterBySentinels, OneMaster
from backends.redis.topology.sentinels import Sentinels
from backends.redis.topology.server import Server
from backends.redis.topology.slots import SlotMap
from backends.redis.wire.connection import Connection
from backends.redis.wire.dialing import Access, dial, refuse_replica
from backends.redis.wire.url import Address, Layout, RedisUrl

NewBreaker = Callable[[], Breaker]
GetAccess = Callable[[], Access]
"""Called for each connection, because credentials may change between two."""


def open_topology(
    url: RedisUrl, access: GetAccess, sentinel_access: GetAccess, new_breaker: NewBreaker
) -> Topology:
    """Connects to the servers of `url` in the background. Each server has its own breaker."""

    async def connect(address: Address) -> Connection:
        return await dial(address, access())

    async def dial_at(address: Address) -> tuple[Address, Connection]:
        return address, await dial(address, access())

    match url.layout:
        case Layout.STANDALONE:
            (address,) = url.addresses
            return OneMaster(Server(str(address), partial(dial_at, address), new_breaker()))
        case Layout.SENTINEL:
            return _by_sentinels(url, access, sentinel_access, new_breaker)
        case Layout.CLUSTER:
            return ClusterOfMasters(SlotMap(url.addresses, connect, dial_at, new_breaker))
        case _ as unreachable:
            assert_never(unreachable)


def _by_sentinels(
    url: RedisUrl, access: GetAccess, sentinel_access: GetAccess, new_breaker: NewBreaker
) -> MasterBySentinels:
    async def dial_sentinel(address: Address) -> tuple[Address, Connection]:
        return address, await dial(address, sentinel_access())

    async def dial_master() -> tuple[Address, Connection]:
        # The sentinels are asked at each attempt: after a failover the master is elsewhere.
        address = await sentinels.find_master()
        try:
            return address, await dial(address, access(), refuse_replica)
        except BackendError as error:
            raise type(error)(f"the master: {error}") from None

    each = [Server(f"sentinel {at}", partial(dial_sentinel, at), new_breaker()) for at in url.addresses]
    sentinels = Sentinels(url.master, each)
    return MasterBySentinels(Server(f"master {url.master}", dial_master, new_breaker()), sentinels)
