"""The stores' view of Redis: a topology that runs commands and scripts by key."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha1
from typing import Generic, Protocol, TypeVar

from backends.redis.topology.server import Server
from backends.redis.wire.commands import pack, prepare
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import MissingScript
from backends.redis.wire.resp import Reply

Result = TypeVar("Result")


class Topology(Protocol):
    """The servers of one store: one master, or the masters of a cluster."""

    def call(self, key: bytes, command: bytes) -> Awaitable[Reply]:
        """Returns the reply of the server that owns `key`. Raises BackendError."""
        ...

    async def masters(self) -> Sequence[Server]:
        """Returns all servers that hold keys. Raises BackendError while none is known."""
        ...

    async def ping(self) -> None:
        """Raises BackendError unless every known server answers."""
        ...

    async def close(self) -> None:
        """Closes all connections; may be repeated."""
        ...


class Script(Generic[Result]):
    """A Lua script over `keys` keys of one slot, with `result_of` to decode its reply.

    The script is sent by its SHA-1 (EVALSHA). A server that does not have it, because it is new, was
    restarted or flushed its scripts, answers NOSCRIPT and has executed nothing; so sending the text (EVAL)
    cannot execute it twice. Both attempts share one deadline.
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
        """Runs the script. Further keys precede the arguments. Raises BackendError."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        try:
            reply = await topology.call(key, self._by_hash(key, *arguments))
        except MissingScript:
            async with deadline(due):
                reply = await topology.call(key, pack("EVAL", self._text, self._keys, key, *arguments))
        return self._result_of(reply)
