"""The stores' view of Redis: a topology that runs commands and scripts by key."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import sha1
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

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


class ScriptKeys(Struct, frozen=True, gc=False):
    """Keys of one slot, and the first arguments of a script, encoded once for many calls."""

    in_slot: bytes
    words: int
    encoded: bytes


def prepare_keys(keys: Sequence[bytes], arguments: Sequence[bytes] = ()) -> ScriptKeys:
    """Encodes keys and the arguments that follow them."""
    return ScriptKeys(
        keys[-1], 1 + len(keys) + len(arguments), _encoded((b"%d" % len(keys), *keys, *arguments))
    )


_LENGTHS = [b"$%d\r\n" % length for length in range(1024)]
"""The heads of short words: formatting them for each call took half of the time of encoding."""


def _encoded(words: Iterable[bytes]) -> bytes:
    parts: list[bytes] = []
    for word in words:
        length = len(word)
        parts += (_LENGTHS[length] if length < len(_LENGTHS) else b"$%d\r\n" % length, word, b"\r\n")
    return b"".join(parts)


class SlotScript:
    """A Lua script over any keys of one slot, and any number of arguments.

    It is sent like `Script`: by its SHA-1 first, and both attempts share one deadline.
    """

    def __init__(self, text: str) -> None:
        digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
        self._by_hash = _encoded((b"EVALSHA", digest.encode()))
        self._by_text = _encoded((b"EVAL", text.encode()))

    async def call(self, topology: Topology, keys: ScriptKeys, arguments: Sequence[bytes]) -> Reply:
        """Runs the script. Raises BackendError."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        count = b"*%d\r\n" % (2 + keys.words + len(arguments))
        encoded = keys.encoded + _encoded(arguments)
        try:
            return await topology.call(keys.in_slot, count + self._by_hash + encoded)
        except MissingScript:
            async with deadline(due):
                return await topology.call(keys.in_slot, count + self._by_text + encoded)


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
