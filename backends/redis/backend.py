"""The store on Redis: what a url chooses, put together."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from backends.breaker import Breaker
from backends.clock import Clock
from backends.errors import BackendError, BackendUnavailable, StoreFull
from backends.interface import AdapterSettings
from backends.redis.counters import RedisWindowCounter
from backends.redis.entries import RedisEntryStore
from backends.redis.inspection import Warnings, inspect, report
from backends.redis.records import RedisRecordStore
from backends.redis.settings import RedisSettings
from backends.redis.topology.cluster import ClusterOfMasters
from backends.redis.topology.one_master import OneMaster, Topology
from backends.redis.topology.sentinels import MasterBySentinels, Sentinels
from backends.redis.topology.server import Server
from backends.redis.topology.slots import SlotMap
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.connection import Connection
from backends.redis.wire.dialing import Access, dial, refuse_replica
from backends.redis.wire.replies import NOT_REDIS, check_done
from backends.redis.wire.url import Address, Layout, RedisUrl, parse_url

_PING_TTL_MS = 5000


class RedisBackend:
    """Any number of replicas may open the same one. Connecting begins at once, in the background."""

    name = "redis"

    def __init__(self, settings: RedisSettings, clock: Clock) -> None:
        self._settings = settings
        self._url = parse_url(settings.url)
        self._access, self._sentinel_access = _accesses(self._url, settings)
        self._topology = _topology(
            self._url,
            lambda: self._access,
            lambda: self._sentinel_access,
            partial(Breaker, clock.monotonic_ms),
        )
        self._keys = Keys(settings.prefix)
        self._wall_ms = clock.wall_ms
        self.clock_lead_seconds: float | None = None
        self.warnings: Warnings = {}
        self.entries = RedisEntryStore(self._topology, self._keys, clock.wall_ms)
        self.counters = RedisWindowCounter(self._topology, self._keys)
        self.records = RedisRecordStore(self._topology, self._keys)

    async def ping(self) -> None:
        """Write, too: a replica, or a server that cannot save, answers PING and serves nobody (D96)."""
        name = self._keys.ping
        await self._topology.ping()
        with suppress(StoreFull):  # only puts are refused then
            check_done(await self._topology.call(name, pack("SET", name, "", "PX", _PING_TTL_MS)))
        self.clock_lead_seconds = await self._clock_lead_seconds()
        await self._inspect()

    def apply(self, settings: AdapterSettings) -> bool:
        """Open connections stay open: Redis asks for credentials only at the start of one (D78)."""
        if not isinstance(settings, RedisSettings):
            return False
        url = parse_url(settings.url)
        same_url = replace(url, user=self._url.user, password=self._url.password) == self._url
        if not same_url or _without_credentials(settings) != _without_credentials(self._settings):
            return False
        self._access, self._sentinel_access = _accesses(url, settings)
        return True

    async def close(self) -> None:
        await self._topology.close()

    async def _inspect(self) -> None:
        """Every time: operators and failovers change settings under open connections."""
        can_be_isolated = self._url.layout is Layout.SENTINEL  # in a cluster such a master stops by itself
        warnings = await inspect(await self._topology.masters(), can_be_isolated=can_be_isolated)
        report(self.warnings, warnings)
        self.warnings = warnings

    async def _clock_lead_seconds(self) -> float | None:
        asked_ms = self._wall_ms()
        try:
            reply = await self._topology.call(self._keys.ping, pack("TIME"))
        except BackendError:
            return None  # this user may not ask: the store is there all the same
        answered_ms = self._wall_ms()
        match reply:
            case [bytes(seconds), bytes(microseconds)] if (seconds + microseconds).isdigit():
                return (asked_ms + answered_ms) / 2000 - (int(seconds) + int(microseconds) / 1_000_000)
        raise BackendUnavailable(NOT_REDIS)


def _without_credentials(settings: RedisSettings) -> RedisSettings:
    return replace(settings, url="", certificate=None, key=None, sentinel=None)


def _accesses(url: RedisUrl, settings: RedisSettings) -> tuple[Access, Access]:
    """To servers and to sentinels."""
    tls = settings.tls_context() if url.is_tls else None
    sentinel = settings.sentinel
    user, password = ("", "") if sentinel is None else (sentinel.username or "", sentinel.password)
    return Access(url.user, url.password, url.database, tls), Access(user, password, 0, tls)


NewBreaker = Callable[[], Breaker]
GetAccess = Callable[[], Access]


def _topology(
    url: RedisUrl, access: GetAccess, sentinel_access: GetAccess, new_breaker: NewBreaker
) -> Topology:
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
        address = await sentinels.find_master()
        try:
            return address, await dial(address, access(), refuse_replica)
        except BackendError as error:
            raise type(error)(f"the master: {error}") from None

    each = [Server(f"sentinel {at}", partial(dial_sentinel, at), new_breaker()) for at in url.addresses]
    sentinels = Sentinels(url.master, each)
    return MasterBySentinels(Server(f"master {url.master}", dial_master, new_breaker()), sentinels)
