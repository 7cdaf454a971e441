"""Stores whose keys are all on one master: a fixed server, or the master that Sentinel names."""

import logging
from collections.abc import Awaitable, Sequence

from backends.background import Background
from backends.errors import as_backend_error
from backends.redis.topology.sentinels import Sentinels
from backends.redis.topology.server import PING, Server
from backends.redis.wire.replies import check_alive
from backends.redis.wire.resp import Reply

log = logging.getLogger("kvs.redis")

WATCH_SECONDS = 0.5
"""Pause between two polls of the sentinels. A poll takes at most one deadline, so another master is noticed
within a second after most sentinels name it; two seconds are promised."""


class OneMaster:
    """A `Topology` of one server that holds all keys."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def call(self, _key: bytes, command: bytes) -> Awaitable[Reply]:
        return self._server.call(command)

    async def masters(self) -> Sequence[Server]:
        return (self._server,)

    async def ping(self) -> None:
        check_alive(await self._server.call(PING))

    async def close(self) -> None:
        await self._server.close()


class MasterBySentinels(OneMaster):
    """A `Topology` of the master that the sentinels name, which is watched while it is connected.

    A master that was replaced while it was cut off does not know it and keeps serving its connections, with
    counters and records of its own. So a live connection proves nothing: as soon as most sentinels name
    another master, the connection is ended and the calls in flight fail.
    """

    def __init__(self, server: Server, sentinels: Sentinels) -> None:
        super().__init__(server)
        self._sentinels = sentinels
        self._watching = Background(self._watch, lambda: WATCH_SECONDS, _log_failure)

    async def close(self) -> None:
        await self._watching.close()
        await super().close()
        await self._sentinels.close()

    async def _watch(self) -> None:
        if await self._sentinels.name_another():
            log.warning("the sentinels name another master")
            self._server.leave("the sentinels name another master")


def _log_failure(error: Exception) -> None:
    log.error("cannot poll the sentinels", extra={"fields": {"reason": str(as_backend_error(error))}})
