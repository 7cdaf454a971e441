"""A client of a simulated region: it calls any replica, pipelines, disconnects, and records the answers."""

import asyncio
import json
import random
from typing import TYPE_CHECKING

from lab.faults.linearizability import MISSING, NEVER, Read, Write
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import TABLES, Request, wire_of
from lab.simulation.wire import LATENCY_SECONDS, ServerEnd
from tests.support.wire import WireReply, read_reply

if TYPE_CHECKING:
    from lab.simulation.region import Region

KEYS = ("a", "b", "c")
ANSWER_SECONDS = 20.0
UNCHARGED = {"invalid_token", "signature_mismatch", "auth_unavailable"}
NOT_CARRIED_OUT = {"quota_unavailable", "rate_limited", "invalid_json", *UNCHARGED}


class Client:
    """Keeps one connection until client, replica or chance ends it."""

    def __init__(self, region: "Region", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self._loop = asyncio.get_running_loop()
        self._replica: SimulatedReplica | None = None
        self._end: ServerEnd | None = None

    async def run(self, until: float) -> None:
        while self._loop.time() < until:
            await asyncio.sleep(self._dice.expovariate(1 / 6))
            for _ in range(self._dice.choices((1, 3, 14), (8, 3, 1))[0]):
                await self.exchange(self._draw_batch())
        self.hang_up()

    async def exchange(self, requests: list[Request]) -> None:
        """Sends all requests, then reads the answers in turn. Tries one connection and repeats nothing."""
        if self._end is None or self._end.is_over:
            self.hang_up()
            self._connect()
        if self._end is None:
            return
        sent = self._loop.time()
        self._end.send(b"".join(map(wire_of, requests)))
        if self._dice.random() < 0.02:
            await asyncio.sleep(self._dice.uniform(0, 0.3))
            for request in requests:
                self._went_unanswered(request, sent)
            self._leave()
            return
        for number, request in enumerate(requests):
            if not await self._take_answer(request, sent):
                for rest in requests[number + 1 :]:
                    self._judge_silence(rest, sent)
                self._leave()
                return

    async def _take_answer(self, request: Request, sent: float) -> bool:
        """Reads an answer, and returns whether there was one."""
        try:
            reply = await read_reply(self._end.client, ANSWER_SECONDS)
        except (EOFError, ConnectionError):
            self._judge_silence(request, sent)
            return False
        except TimeoutError:
            self._region.wrong(f"{request} was not answered within {ANSWER_SECONDS} s")
            return False
        self._region.answered(self._replica, request, reply, sent)
        self._remember(request, reply, sent)
        return True

    def hang_up(self) -> None:
        """Disconnects after all answers."""
        if self._end is not None and self._end.client._buffer:
            self._region.wrong(f"an answer that nobody asked for: {bytes(self._end.client._buffer)}")
        self._leave()

    def _leave(self) -> None:
        if self._end is not None:
            self._end.leave()
        self._end = None

    def _connect(self) -> None:
        open_ones = [replica for replica in self._region.replicas if replica.takes_connections]
        if not open_ones:
            self._end = None
            return
        self._replica = self._dice.choice(open_ones)
        self._end = self._replica.connect()

    def _judge_silence(self, request: Request, sent: float) -> None:
        """Judges an unanswered request: a live replica must answer every request that reached it."""
        if self._replica.has_crashed:
            self._went_unanswered(request, sent)
        elif self._end.last_delivery >= sent + LATENCY_SECONDS:
            self._region.wrong(f"{request} reached a replica that closed without an answer")

    def _went_unanswered(self, request: Request, sent: float) -> None:
        self._replica.uncertain += 1
        self._region.unanswered += 1
        if request.operation != "get" and request.flaw is None:
            value = request.value if request.operation == "put" else MISSING
            self._region.history(request).append(Write(value, sent))

    def _remember(self, request: Request, reply: WireReply, sent: float) -> None:
        now = self._loop.time()
        history = self._region.history(request)
        if request.operation == "get":
            if reply.status == 200:
                found = json.dumps(reply.json["value"]).encode() if reply.json["found"] else MISSING
                history.append(Read(found, sent, now))
        elif reply.status == 200 or reply.error not in NOT_CARRIED_OUT:
            value = request.value if request.operation == "put" else MISSING
            history.append(Write(value, sent, now if reply.status == 200 else NEVER))

    def _draw_batch(self) -> list[Request]:
        return [self._draw() for _ in range(self._dice.choices((1, 2, 4), (12, 2, 1))[0])]

    def _draw(self) -> Request:
        operation = self._dice.choices(("put", "get", "delete"), (5, 7, 1))[0]
        table, key = self._dice.choice(TABLES), self._dice.choice(KEYS)
        number = self._region.next_number() if operation == "put" else None
        flaw = self._dice.choices((None, "body", "token", "secret"), (40, 1, 1, 1))[0]
        return Request(operation, table, key, number, flaw)
