"""Which server a key belongs to."""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from backends.redis.connection import Argument, Reply
from backends.redis.server import Server


class Topology(Protocol):
    """The servers of a store."""

    def call(self, key: bytes, *command: Argument) -> Coroutine[Any, Any, Reply]:
        """The reply of the server that `key` belongs to. Raises BackendError."""
        ...

    async def masters(self) -> Sequence[Server]:
        """All servers that hold keys. Raises BackendError while none is known."""
        ...

    async def ping(self) -> None:
        """Raises BackendError unless every server that is known answers."""
        ...

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        ...


class OneMaster:
    """All keys on one server: standalone, or whichever the sentinels name."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def call(self, _key: bytes, *command: Argument) -> Coroutine[Any, Any, Reply]:
        return self._server.call(*command)

    async def masters(self) -> Sequence[Server]:
        return (self._server,)

    async def ping(self) -> None:
        await self._server.call("PING")

    async def close(self) -> None:
        await self._server.close()
