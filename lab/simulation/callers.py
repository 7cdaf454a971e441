"""Callers of a simulated region: they try every token that was ever issued, at any replica."""

import asyncio
import functools
import random
from typing import TYPE_CHECKING

from lab.simulation.answers import Answered
from lab.simulation.replica import SimulatedReplica
from lab.simulation.requests import HOST, STARTED_AT_MS
from lab.simulation.tenants import Issued
from lab.simulation.wire import ServerEnd
from tests.support.signing import Signer
from tests.support.wire import head, read_reply

if TYPE_CHECKING:
    from lab.simulation.directories import Directories

ANSWER_SECONDS = 20.0
PUT, GET = "put", "get"


class Caller:
    """Keeps a connection to each replica."""

    def __init__(self, region: "Directories", dice: random.Random) -> None:
        self._region, self._dice = region, dice
        self._loop = asyncio.get_running_loop()
        self._ends: dict[SimulatedReplica, ServerEnd] = {}

    async def run(self, until: float) -> None:
        while self._loop.time() < until:
            await asyncio.sleep(self._dice.expovariate(1 / 0.7))
            replica, token = self._region.fleet.draw(self._dice), self._draw_token()
            if replica is not None and token is not None:
                await self.call(replica, token, self._dice.choice((PUT, GET, GET)))
        self.hang_up()

    async def call(self, replica: SimulatedReplica, token: Issued, operation: str) -> None:
        """Makes one call; the value of a put identifies its owner."""
        number = self._region.issued.index(token)
        end = self._ends.get(replica)
        if end is None or end.is_over:
            end = self._ends[replica] = replica.connect()
        contact, sent = replica.network.contact, self._loop.time()
        own_change, known_until = self._region.own_change(replica, token), contact.known_until
        end.send(_wire_of(operation, number).replace(b"TOKEN", token.token.encode()))
        try:
            reply = await read_reply(end.client, ANSWER_SECONDS)
        except (EOFError, ConnectionError):
            self._ends.pop(replica).leave()
            self._region.was_unanswered()
        except TimeoutError:
            self._region.wrong(f"a call was not answered within {ANSWER_SECONDS} s")
        else:
            call = Answered(token, contact, own_change, sent, self._loop.time(), known_until, reply)
            self._region.was_answered(replica, call)

    def hang_up(self) -> None:
        """Disconnects."""
        for end in self._ends.values():
            end.leave()
        self._ends.clear()

    def _draw_token(self) -> Issued | None:
        """Draws a token, mostly one of the latest."""
        issued = self._region.issued
        if not issued:
            return None
        return self._dice.choice(issued[-6:] if self._dice.random() < 0.7 else issued)


@functools.cache
def _wire_of(operation: str, number: int) -> bytes:
    body = b'{"key": "k", "value": %d}' % number if operation == PUT else b'{"key": "k"}'
    path = f"/v1/{operation}"
    fields = {"Content-Type": "application/json"}
    signed = Signer().sign(HOST + path, body, fields, at_seconds=STARTED_AT_MS / 1000)
    fields = [*signed.items(), ("X-KVS-Authorization", "Bearer TOKEN"), ("Content-Length", len(body))]
    return head(path, fields) + body
