"""A client of a simulated region: it calls any replica, pipelines, disconnects, and records the answers."""

import asyncio
import random
from typing import TYPE_CHECKING

from lab.simulation.drawing import KEYS, Draw
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import COUNTERS, TABLES, Request, Table, wire_of
from lab.simulation.wire import LATENCY_SECONDS, ServerEnd
from lab.simulation.witness import is_in_order
from tests.support.wire import WireReply, read_reply

if TYPE_CHECKING:
    from lab.simulation.region import Region

ANSWER_SECONDS = 20.0


class Client:
    """Keeps one connection until client, replica or chance ends it."""

    def __init__(self, region: "Region", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self._draw = Draw(dice, region.witness, region.next_number)
        self._loop = asyncio.get_running_loop()
        self._replica: SimulatedReplica | None = None
        self._end: ServerEnd | None = None

    async def run(self, until: float) -> None:
        while self._loop.time() < until:
            await asyncio.sleep(self._dice.expovariate(1 / 6))
            for _ in range(self._dice.choices((1, 3, 14), (8, 3, 1))[0]):
                if self._dice.random() < 0.1:
                    await self.list_all(self._dice.choice(TABLES), self._dice.choice((1, 2, 100)))
                else:
                    await self.exchange(self._draw.requests())
        self.hang_up()

    async def list_all(self, table: Table, limit: int) -> None:
        """Lists a table page by page, perhaps on another replica each, and judges what was listed."""
        cursor, listed, began = None, {}, self._loop.time()
        while True:
            request = Request("list", table, cursor=cursor, limit=limit)
            replies = await self.exchange([request])
            if [reply.status for reply in replies] != [200]:
                return
            page = replies[0].json
            if "entries" not in page:
                self._region.wrong(f"{request} was answered with {page}")
                return
            listed |= {each["key"]: each["value"] for each in page["entries"]}
            if not is_in_order(list(listed)) or len(page["entries"]) > limit:
                self._region.wrong(f"{request} found {page}")
            cursor = page["cursor"]
            if cursor is None:
                break
            if self._dice.random() < 0.3:
                self.hang_up()
        for key in (*KEYS, *COUNTERS):
            self._region.witness.listed(table, key, listed.pop(key, None), began, self._loop.time())
        if listed:
            self._region.wrong(f"{table} lists {listed}")

    async def exchange(self, requests: list[Request]) -> list[WireReply]:
        """Sends all requests, then reads the answers in turn. Tries one connection and repeats nothing."""
        replies: list[WireReply] = []
        if self._end is None or self._end.is_over:
            self.hang_up()
            self._connect()
        if self._end is None:
            return replies
        sent = self._loop.time()
        self._end.send(b"".join(map(wire_of, requests)))
        if self._dice.random() < 0.02:
            await asyncio.sleep(self._dice.uniform(0, 0.3))
            for request in requests:
                self._went_unanswered(request, sent)
            self._leave()
            return replies
        for number, request in enumerate(requests):
            reply = await self._take_answer(request, sent)
            if reply is not None:
                replies.append(reply)
            else:
                for rest in requests[number + 1 :]:
                    self._judge_silence(rest, sent)
                self._leave()
                break
        return replies

    async def _take_answer(self, request: Request, sent: float) -> WireReply | None:
        """Reads an answer; None if there was none."""
        try:
            reply = await read_reply(self._end.client, ANSWER_SECONDS)
        except (EOFError, ConnectionError):
            self._judge_silence(request, sent)
            return None
        except TimeoutError:
            self._region.wrong(f"{request} was not answered within {ANSWER_SECONDS} s")
            return None
        self._region.answered(self._replica, request, reply, sent)
        self._region.witness.took(request, reply, sent, self._loop.time())
        return reply

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
        self._replica.uncertain += request.cost
        self._region.unanswered += 1
        self._region.witness.took_nothing(request, sent)
