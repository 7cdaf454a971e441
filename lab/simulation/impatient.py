"""Impatient clients of replicas that may be stopped: each changes a key of its own, gives up, and repeats."""

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.simulation.kernels import FIN, LATENCY_SECONDS, RST, MachineEnd
from lab.simulation.requests import HOST, STARTED_AT_MS
from tests.support.config import TABLE_TOKEN
from tests.support.signing import Signer
from tests.support.wire import head

if TYPE_CHECKING:
    from lab.simulation.pauses import Pauses, Replica

STOPPED_SECONDS = (0.2, 0.6, 0.95, 1.05, 3.0, 6.0, 12.0)
MOST_CALLBACKS = 16
"""A put takes about ten."""

UNSEEN_PATIENCE_SECONDS = 5.0
"""Patience of a client whose end is not seen, for example behind a proxy; by default that of our clients."""


class Client:
    """Makes one change after the other. Each is tried until it is acknowledged."""

    def __init__(self, region: "Pauses", number: int) -> None:
        self._region, self._dice, self._number = region, region.dice, number
        self._change = self._attempt = 0
        self._kept: MachineEnd | None = None
        self._replica: Replica | None = None
        self._is_waiting = False
        self.acknowledged = 0
        self.gave_up_at: dict[int, float] = {}
        self._begin()

    def _begin(self) -> None:
        self._change += 1
        self._region.world.after(self._dice.uniform(0, 0.2), self._try)

    def _try(self) -> None:
        """Sends the change to some replica, which may be about to stop."""
        self._attempt += 1
        self._is_waiting = True
        if self._kept is None:
            others = [each for each in self._region.replicas if each is not self._replica]
            self._replica = self._dice.choice(others)
            self._kept = self._replica.accept(self._listen())
        end, attempt = self._kept, self._attempt
        if self._dice.random() < 0.4 and not any(each.machine.is_stopped for each in self._region.replicas):
            self._region.happened["stop a replica"] += 1
            self._replica.machine.stop(
                after_callbacks=self._dice.randint(0, MOST_CALLBACKS),
                seconds=self._dice.choice(STOPPED_SECONDS),
            )
        sent = _wire_of(self._number, self._change, attempt)
        self._later(lambda: end.arrive(sent))
        ending = self._dice.choice((FIN, RST, None))
        patience = UNSEEN_PATIENCE_SECONDS if ending is None else self._dice.choice((0.25, 0.5, 1.0, 3.0))
        self._region.world.after(patience, lambda: self._give_up(attempt, end, ending))

    def _give_up(self, attempt: int, end: MachineEnd, ending: object) -> None:
        if not self._is_waiting or attempt != self._attempt:
            return
        self._region.unanswered += 1
        self.gave_up_at[attempt] = self._region.world.now
        if ending is not None:
            self._later(lambda: end.arrive(ending))
        self._repeat()

    def _listen(self) -> Callable[[bytes | None], None]:
        """Returns the receiver of a new connection's bytes."""

        def hear(data: bytes | None) -> None:
            if self._kept is None or hear is not self._heard:
                return
            if data is None:
                if self._is_waiting:
                    self.gave_up_at[self._attempt] = self._region.world.now
                    self._repeat()
                self._kept = None
            elif self._is_waiting and data.startswith(b"HTTP/1.1 "):
                self._answered(int(data[9:12]))

        self._heard = hear
        return lambda data: self._later(lambda: hear(data))

    def _answered(self, status: int) -> None:
        self._region.statuses[status] += 1
        if status == 200:
            self._is_waiting = False
            self.acknowledged = self._change
            self._begin()
        else:
            self.gave_up_at[self._attempt] = self._region.world.now
            self._repeat()

    def _repeat(self) -> None:
        """Tries again, over another connection."""
        self._is_waiting = False
        self._kept = None
        self._region.world.after(self._dice.uniform(0, 0.2), self._try)

    def _later(self, deed: Callable[[], None]) -> None:
        self._region.world.after(LATENCY_SECONDS, deed)


@functools.lru_cache(4096)
def _wire_of(client: int, change: int, attempt: int) -> bytes:
    body = json.dumps({"key": f"k{client}", "value": [client, change, attempt]}).encode()
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {TABLE_TOKEN}"}
    signed = Signer().sign(f"{HOST}/v1/put", body, fields, at_seconds=STARTED_AT_MS / 1000)
    return head("/v1/put", [*signed.items(), ("Content-Length", len(body))]) + body
