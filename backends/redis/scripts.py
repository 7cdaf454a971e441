"""Lua scripts, sent by their hash."""

import asyncio
from hashlib import sha1

from backends.redis.connection import DEADLINE_SECONDS, Argument, Reply, deadline
from backends.redis.replies import MissingScript
from backends.redis.topology import Topology


class Script:
    """A script over one key. A server that does not know it yet is told it once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._hash = sha1(text.encode(), usedforsecurity=False).hexdigest()

    async def call(self, topology: Topology, key: bytes, *arguments: Argument) -> Reply:
        """What the script returns. Raises BackendError."""
        due = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        try:
            return await topology.call(key, "EVALSHA", self._hash, 1, key, *arguments)
        except MissingScript:
            async with deadline(due):
                return await topology.call(key, "EVAL", self._text, 1, key, *arguments)
