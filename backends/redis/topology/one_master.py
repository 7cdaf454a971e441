"""Which server runs a command or a script."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha1
from typing import Generic, Protocol, TypeVar

from backends.redis.topology.server import PING, Server
from backends.redis.wire.commands import pack, prepare
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import MissingScript, check_alive
from backends.redis.wire.resp import Reply

Result = TypeVar("Result")


class Topology(Protocol):
    """The servers of a store."""

    def call(self, key: bytes, command: bytes) -> Awaitable[Reply]:
        """The reply of the server that `key` belongs to. Raises BackendError."""
        ...

    async def masters(self) -> Sequence[Server]:
        """All servers that hold keys. Raises BackendError while none is known."""
        ...

    async def ping(self) -> None:
        """Raises BackendError unless every known server answers."""
        ...

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        ...


class OneMaster:
    """All keys on one server."""

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


class Script(Generic[Result]):
    """A Lua script over `keys` keys of one slot, sent by its hash, and what its reply means.

    A server that does not know it yet (it is new, was restarted, or flushed its scripts) says so and has done
    nothing; it is then sent the text, which it keeps.
    """

    def __init__(
        self, text: str, *, keys: int = 1, arguments: int, result_of: Callable[[Reply], Result]
    ) -> None:
        self._text = text
        self._keys = keys
        digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
        self._by_hash = prepare("EVALSHA", digest, str(keys), *[None] * (keys + arguments))
        self._result_of = result_of

    async def call(self, topology: Topology, key: bytes, *arguments: bytes) -> Result:
        """`key` is the first one; further ones come before the arguments. Raises BackendError."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        try:
            reply = await topology.call(key, self._by_hash(key, *arguments))
        except MissingScript:
            async with deadline(due):
                reply = await topology.call(key, pack("EVAL", self._text, self._keys, key, *arguments))
        return self._result_of(reply)
