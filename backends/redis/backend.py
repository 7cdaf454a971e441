"""The Redis store: the three ports on one topology."""

from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from backends.backend import AdapterSettings
from backends.breaker import Breaker
from backends.clock import Clock
from backends.errors import BackendError, BackendUnavailable, StoreFull
from backends.redis.counters import RedisWindowCounter
from backends.redis.layouts.tables import LayeredTables
from backends.redis.records.store import RedisRecordStore
from backends.redis.settings import RedisSettings
from backends.redis.topology.inspection import Warnings, inspect, log_new
from backends.redis.topology.opening import open_topology
from backends.redis.wire.commands import Keys, pack
from backends.redis.wire.dialing import Access
from backends.redis.wire.replies import NOT_REDIS, check_done
from backends.redis.wire.url import Layout, RedisUrl, parse_url

_PING_TTL_MS = 5000


class RedisBackend:
    """A `Backend` that any number of replicas may open. It connects in the background from the start on."""

    name = "redis"

    def __init__(self, settings: RedisSettings, clock: Clock) -> None:
        self._settings = settings
        self._url = parse_url(settings.url)
        self._access, self._sentinel_access = _accesses(self._url, settings)
        self._topology = open_topology(
            self._url,
            lambda: self._access,
            lambda: self._sentinel_access,
            partial(Breaker, clock.monotonic_ms),
        )
        self._keys = Keys(settings.prefix)
        self._wall_ms = clock.wall_ms
        self.clock_lead_seconds: float | None = None
        self.warnings: Warnings = {}
        self.counters = RedisWindowCounter(self._topology, self._keys)
        self.records = RedisRecordStore(self._topology, self._keys)
        self.tables = self.charged = LayeredTables(self._topology, self._keys, settings.prefix, self.counters)

    async def ping(self) -> None:
        """Pings all servers and writes a key that expires.

        PING alone proves too little: a replica, or a server that cannot save, answers it and refuses writes.
        A full server counts as up, because it refuses only puts.
        """
        name = self._keys.ping
        await self._topology.ping()
        with suppress(StoreFull):
            check_done(await self._topology.call(name, pack("SET", name, "", "PX", _PING_TTL_MS)))
        self.clock_lead_seconds = await self._clock_lead_seconds()
        await self._inspect()

    def apply(self, settings: AdapterSettings) -> bool:
        """Uses new credentials for new connections only: Redis checks them when a connection begins."""
        if not isinstance(settings, RedisSettings):
            return False
        url = parse_url(settings.url)
        same_url = replace(url, user=self._url.user, password=self._url.password) == self._url
        if not same_url or _without_credentials(settings) != _without_credentials(self._settings):
            return False
        self._access, self._sentinel_access = _accesses(url, settings)
        return True

    async def close(self) -> None:
        await self.tables.close()
        await self._topology.close()

    async def _inspect(self) -> None:
        """Runs at every ping: operators and failovers change a server's settings under open connections."""
        can_be_isolated = self._url.layout is Layout.SENTINEL  # an isolated master of a cluster stops itself
        warnings = await inspect(await self._topology.masters(), can_be_isolated=can_be_isolated)
        log_new(self.warnings, warnings)
        self.warnings = warnings

    async def _clock_lead_seconds(self) -> float | None:
        sent_ms = self._wall_ms()
        try:
            reply = await self._topology.call(self._keys.ping, pack("TIME"))
        except BackendError:
            return None  # this user may lack the right to TIME, which does not make the store unavailable
        received_ms = self._wall_ms()
        match reply:
            case [bytes(seconds), bytes(microseconds)] if (seconds + microseconds).isdigit():
                return (sent_ms + received_ms) / 2000 - (int(seconds) + int(microseconds) / 1_000_000)
        raise BackendUnavailable(NOT_REDIS)


def _without_credentials(settings: RedisSettings) -> RedisSettings:
    return replace(settings, url="", certificate=None, key=None, sentinel=None)


def _accesses(url: RedisUrl, settings: RedisSettings) -> tuple[Access, Access]:
    """Returns the access to the data servers and the access to the sentinels."""
    tls = settings.tls_context() if url.is_tls else None
    sentinel = settings.sentinel
    user, password = ("", "") if sentinel is None else (sentinel.username or "", sentinel.password)
    return Access(url.user, url.password, url.database, tls), Access(user, password, 0, tls)
