"""Signed traffic from clients of three habits, at a steady rate; nothing is ever sent twice."""

import asyncio
import json
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.config import TABLE_TOKEN
from tests.support.evidence import note
from tests.support.signing import Signer
from tests.support.stopwatch import HeldUp
from tests.support.wire import WireReply, head, read_reply

BATCH = 8
"""Requests that a pipelining client sends at once."""


@dataclass(frozen=True)
class Habits:
    """Number of clients of each kind, and the seconds between their turns."""

    kept: int = 0
    """Call again on the same connection, until an answer says that it closes."""
    fresh: int = 0
    """Open a connection for every call."""
    hesitant: int = 0
    """Open a connection for every call, and send the body 5 ms after the head."""
    pipelined: int = 0
    """Send several calls at once on a kept connection."""
    every_seconds: float = 0.02


class Traffic:
    """Clients that put and get at `url` while the block runs. What is late counts from when it was due."""

    def __init__(self, url: str, habits: Habits, tls: ssl.SSLContext | None = None) -> None:
        address = urlsplit(url)
        self._url, self._host, self._port = url, address.hostname, address.port
        self._habits, self._tls = habits, tls
        self.answered = 0
        self.moved = 0
        """Connections that an answer has said to close."""
        self.unanswered = 0
        """Pipelined calls behind an answer that closed their connection."""
        self.failures: list[str] = []
        self.seconds: list[float] = []
        """Duration of each call since it was due, less the waits of clients or server for a processor."""
        self._held_up = HeldUp()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def held_up(self) -> float:
        """The longest, within a moment, that this process and those it started were kept from work."""
        return self._held_up.longest

    def p99(self) -> float:
        return sorted(self.seconds)[len(self.seconds) * 99 // 100]

    async def __aenter__(self) -> Self:
        habits = self._habits
        self._began = time.monotonic()
        callers = [self._kept] * habits.kept + [self._fresh] * habits.fresh
        callers += [self._hesitant] * habits.hesitant
        callers += [self._pipelined] * habits.pipelined
        self._tasks = [
            asyncio.create_task(self._run(caller, number, len(callers)))
            for number, caller in enumerate(callers)
        ]
        await self._held_up.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Every call that was begun is waited for."""
        self._stopping = True
        await asyncio.gather(*self._tasks)
        await self._held_up.__aexit__()
        load_seconds = time.monotonic() - self._began
        note(answered=self.answered, unanswered=self.unanswered, load_seconds=load_seconds)

    async def _run(self, caller: Any, number: int, of: int) -> None:
        key = f"{caller.__name__} {number}"
        requests = [self._request("put", key), self._request("get", key)]
        turns = Turns(self._habits.every_seconds, number / of)
        while not self._stopping:
            due = await turns.next()
            try:
                reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
                try:
                    await caller(reader, writer, requests, turns, due)
                finally:
                    writer.transport.abort() if self._tls is None else writer.close()
            except (OSError, EOFError, TimeoutError) as fault:
                self.failures.append(f"{caller.__name__}: {fault!r}")

    async def _kept(self, reader, writer, requests: Sequence[bytes], turns: "Turns", due: float) -> None:
        while True:
            writer.write(requests[turns.number % 2])
            if self._account(await read_reply(reader), due) or self._stopping:
                return
            due = await turns.next()

    async def _fresh(self, reader, writer, requests: Sequence[bytes], turns: "Turns", due: float) -> None:
        request = requests[turns.number % 2]
        writer.write(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        self._account(await read_reply(reader), due)

    async def _hesitant(self, reader, writer, requests: Sequence[bytes], turns: "Turns", due: float) -> None:
        head_bytes, end, body = requests[turns.number % 2].partition(b"\r\n\r\n")
        writer.write(head_bytes + b"\r\nConnection: close" + end)
        await asyncio.sleep(0.005)
        writer.write(body)
        self._account(await read_reply(reader), due)

    async def _pipelined(self, reader, writer, requests: Sequence[bytes], turns: "Turns", due: float) -> None:
        while True:
            writer.write(b"".join(requests) * (BATCH // 2))
            for number in range(BATCH):
                if self._account(await read_reply(reader), due):
                    self.unanswered += BATCH - 1 - number
                    return
            if self._stopping:
                return
            due = await turns.next()

    def _account(self, reply: WireReply, due: float) -> bool:
        """Whether the connection closes."""
        self.answered += 1
        self.seconds.append(time.monotonic() - due - self._held_up.since(due))
        if reply.status != 200:
            self.failures.append(f"{reply.status} {reply.body.decode()}")
        self.moved += reply.closes
        return reply.closes

    def _request(self, operation: str, key: str) -> bytes:
        body = json.dumps({"key": key, **({"value": key} if operation == "put" else {})}).encode()
        fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {TABLE_TOKEN}"}
        path = f"/v1/{operation}"
        signed = Signer().sign(self._url + path, body, fields, at_seconds=time.time())
        return head(path, [*signed.items(), ("Content-Length", len(body))]) + body


class Turns:
    """When a client's turns are due."""

    def __init__(self, every_seconds: float, phase: float) -> None:
        self._every_seconds = every_seconds
        self._due = time.monotonic() + every_seconds * phase
        self.number = 0

    async def next(self) -> float:
        """Returns at the moment that the next turn is due, or at once if that has passed; the moment."""
        self.number += 1
        due = self._due
        await asyncio.sleep(max(due - time.monotonic(), 0))
        self._due = due + self._every_seconds
        return due
