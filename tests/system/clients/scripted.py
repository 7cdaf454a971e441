"""A server that answers requests by the steps of a script, and records them."""

import asyncio
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from tests.system.clients.steps import Step, reset, send


@dataclass
class Seen:
    """One request, without a body if it was not read."""

    at_seconds: float
    path: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    answered_bytes: int = 0
    connection: int = 0


class ScriptedServer:
    """Listens on a free port; the last step applies to all further requests. Use as a context manager."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._listener.setblocking(False)
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._open: dict[socket.socket, int] = {}
        self._accepted = 0
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._start(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()
        mistakes = [each for each in ended if isinstance(each, Exception)]
        if mistakes:
            raise ExceptionGroup("the scripted server failed", mistakes)

    async def wait_for_requests(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.seen) >= count)

    async def push(self, data: bytes) -> None:
        """Sends bytes that nobody asked for on each open connection."""
        for each in self._still_open():
            with suppress(ConnectionError):
                await asyncio.get_running_loop().sock_sendall(each, data)

    def hang_up(self) -> None:
        """Sends the end of each open connection."""
        for each in self._still_open():
            with suppress(OSError):  # the client may have left
                each.shutdown(socket.SHUT_WR)

    def _still_open(self) -> list[socket.socket]:
        return [each for each in self._open if each.fileno() >= 0]

    def _start(self, work) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        return task

    async def _accept(self) -> None:
        # Cancelling the loop's own `sock_accept` may lose a connection that it has already accepted:
        # nothing is awaited between accepting a connection and giving it to a task that closes it.
        while True:
            await _readable(self._listener)
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                continue
            connection.setblocking(False)
            self._accepted += 1
            self._open[connection] = self._accepted
            served = self._start(self._serve(connection))
            served.add_done_callback(partial(self._close, connection))  # it may be cancelled before it begins

    def _close(self, connection: socket.socket, _: object) -> None:
        del self._open[connection]
        connection.close()

    async def _serve(self, connection: socket.socket) -> None:
        with connection:
            rest = b""
            while await _arrives(connection, rest):
                step = await self._note(self._open[connection])
                seen = self.seen[-1]
                if step.reset == "before":
                    return reset(connection)
                rest = await _read(connection, rest, seen)
                if step.reset == "after":
                    return reset(connection)
                if step.silent:
                    await _until_the_client_leaves(connection)
                    return None
                seen.answered_bytes = await send(connection, step)
                if step.ends:
                    return None
        return None

    async def _note(self, connection: int) -> Step:
        async with self._changed:
            step = self._steps[min(len(self.seen), len(self._steps) - 1)]
            self.seen.append(Seen(time.monotonic(), connection=connection))
            self._changed.notify_all()
        return step


async def _arrives(connection: socket.socket, rest: bytes) -> bool:
    """Waits for the first byte of a request without reading it; returns False if the client left."""
    while not rest:
        await _readable(connection)
        try:
            return bool(connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            continue
        except ConnectionError:
            return False
    return True


async def _readable(end: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(end, lambda: readable.done() or readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(end)


async def _read(connection: socket.socket, data: bytes, seen: Seen) -> bytes:
    """Reads one request into `seen`; returns the bytes that follow it."""
    loop = asyncio.get_running_loop()
    while b"\r\n\r\n" not in data:
        data += await loop.sock_recv(connection, 65_536)
    head, _, data = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    seen.path = first.split(" ")[1]
    seen.fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    length = int(seen.fields.get("content-length", "0"))
    while len(data) < length:
        data += await loop.sock_recv(connection, 65_536)
    seen.body = data[:length]
    return data[length:]


async def _until_the_client_leaves(connection: socket.socket) -> None:
    try:
        while await asyncio.get_running_loop().sock_recv(connection, 65_536):
            continue
    except ConnectionError:
        return
