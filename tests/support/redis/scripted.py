"""A server on the test's event loop that speaks RESP and replies as scripted."""

import asyncio
from collections.abc import Callable
from typing import Self

from tests.support.accepting import stop_accepting
from tests.support.ports import HOST
from tests.support.redis.resp import CommandBuffer

Words = list[bytes]


class ScriptedRedis:
    """Records each command in `commands` and answers it with the bytes of `replies(command)`.

    It does not answer where that is None. It answers `PING` by itself.
    """

    def __init__(self, replies: Callable[[Words], bytes | None]) -> None:
        self.port = 0
        self.commands: list[Words] = []
        self.replies = replies
        self._writers: set[asyncio.StreamWriter] = set()

    def of(self, word: bytes) -> list[Words]:
        """Returns the commands that begin with a word."""
        return [command for command in self.commands if command[0] == word]

    def close_connections(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def __aenter__(self) -> Self:
        self._listener = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_accepting(self._listener)
        self.close_connections()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        commands = CommandBuffer()
        try:
            while data := await reader.read(65_536):
                for command in commands.feed(data):
                    self._answer(command, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    def _answer(self, command: Words, writer: asyncio.StreamWriter) -> None:
        if command == [b"PING"]:
            writer.write(b"+PONG\r\n")
            return
        self.commands.append(command)
        if (reply := self.replies(command)) is not None:
            writer.write(reply)
