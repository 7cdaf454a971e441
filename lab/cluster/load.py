"""Signed requests through the Service, on kept connections and on new ones; nothing is sent twice.

Each client has a key of its own, so it knows what a get may find. What came of requests is counted.
"""

import asyncio
import json
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from lab.cluster.report import Shown
from tests.support.signing import Signer
from tests.support.traffic import Turns
from tests.support.wire import CLOSE, WireReply, head, read_reply

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Caller:
    """One table as its app calls it: `host` is what is signed, `address` where requests go."""

    host: str
    address: tuple[str, int]
    token: str
    signer: Signer

    def request(self, operation: str, body: dict[str, object], *, closes: bool) -> bytes:
        content = json.dumps(body).encode()
        fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {self.token}"}
        path = f"/v1/{operation}"
        signed = self.signer.sign(f"http://{self.host}{path}", content, fields, at_seconds=time.time())
        last = [("Content-Length", len(content)), *([CLOSE] if closes else [])]
        return head(path, [*signed.items(), *last]) + content

    def is_known_at(self, address: str) -> bool:
        """Whether the pod there has heard of the table."""
        with socket.create_connection((address, 8080), PATIENCE_SECONDS) as connection:
            connection.sendall(self.request("delete", {"key": "nothing"}, closes=True))
            return connection.makefile("rb").readline().split()[1] == b"200"


@dataclass
class _Register:
    """One key of one client: which of its puts may be what is stored."""

    key: str
    possible: set[int | None] = field(default_factory=lambda: {None})
    last: int = 0


class Load:
    """Clients that put and get in turn while the block runs, each so often a second."""

    def __init__(
        self,
        caller: Caller,
        *,
        kept: int = 12,
        fresh: int = 12,
        per_second: float = 14.0,
        name: str = "client",
    ) -> None:
        self._caller = caller
        self._kinds = [False] * kept + [True] * fresh
        self._every_seconds = 1 / per_second
        self._name = name
        self.statuses: Counter[int] = Counter()
        """Answers by status; 0 is none."""
        self.operations: Counter[str] = Counter()
        """Latencies of requests that were answered with 200."""
        self.failures: list[str] = []
        self.wrong: list[str] = []
        self.slowest_seconds = 0.0
        self.last_failure = 0.0
        self._stopping = False

    @property
    def answered(self) -> int:
        return self.statuses.total() - self.statuses[0]

    def show(self, shown: Shown) -> None:
        shown.statuses += self.statuses
        shown.wrong += len(self.wrong)
        shown.slowest_seconds = max(shown.slowest_seconds, self.slowest_seconds)

    async def __aenter__(self) -> Self:
        self._began = time.monotonic()
        self._tasks = [
            asyncio.create_task(self._run(number, closes)) for number, closes in enumerate(self._kinds)
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Every call that was begun is waited for."""
        self._stopping = True
        await asyncio.gather(*self._tasks)

    async def _run(self, number: int, closes: bool) -> None:
        register = _Register(f"{self._name} {number}")
        turns = Turns(self._every_seconds, number / len(self._kinds))
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while not self._stopping:
            await turns.next()
            began = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    if connection and connection[0].at_eof():
                        connection[1].close()
                        connection = None
                    if connection is None:
                        connection = await asyncio.open_connection(*self._caller.address)
                    reply = await self._call(connection, register, turns.number, closes)
            except (OSError, EOFError, TimeoutError) as fault:
                self.statuses[0] += 1
                self._fail(f"{type(fault).__name__}: {fault}", began)
                reply = None
            self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
            if connection and (reply is None or reply.closes or closes):
                connection[1].close()
                connection = None
        if connection:
            connection[1].close()

    async def _call(self, connection, register: _Register, turn: int, closes: bool) -> WireReply:
        reader, writer = connection
        operation = "put" if turn % 2 else "get"
        body: dict[str, object] = {"key": register.key}
        if operation == "put":
            register.last += 1
            register.possible.add(register.last)
            body["value"] = register.last
        began = time.monotonic()
        writer.write(self._caller.request(operation, body, closes=closes))
        reply = await read_reply(reader, PATIENCE_SECONDS)
        self.statuses[reply.status] += 1
        if reply.status != 200:
            self._fail(f"{reply.status} {reply.body.decode()}", began)
            return reply
        self.operations[operation] += 1
        if operation == "put":
            register.possible = {register.last}
        elif (found := json.loads(reply.body)).get("value") not in register.possible:
            self.wrong.append(f"{register.key}: {found}, not one of {register.possible}")
        return reply

    def _fail(self, what: str, began: float) -> None:
        self.last_failure = time.monotonic()
        into = self.last_failure - self._began
        self.failures.append(f"{what} after {self.last_failure - began:.2f} s, {into:.1f} s into the load")
