"""Slots of a cluster: their owners, and moves from one owner to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.support.ports import HOST
from tests.support.redis.server import RedisServer

SLOTS = 16_384

SlotMap = tuple[tuple[int, int, int], ...]
"""First and last slot of each range and the port of its master, in the order of slots."""


def shares(masters: int) -> list[range]:
    """Divides all slots evenly."""
    bounds = [SLOTS * each // masters for each in range(masters + 1)]
    return [range(first, end) for first, end in pairwise(bounds)]


def slot_map(node: RedisServer) -> SlotMap:
    """Returns the slot map as `node` sees it."""
    ranges = node.command("CLUSTER", "SLOTS")
    return tuple(sorted((first, last, master[1]) for first, last, master, *_ in ranges))


def node_id(node: RedisServer) -> bytes:
    return node.command("CLUSTER", "MYID")


@dataclass(frozen=True)
class SlotMove:
    """The steps that redis-cli takes, each on its own, so that a test can act between them.

    From `begin` on, the source answers ASK for keys that it does not have; `finish` makes that MOVED.
    """

    slot: int
    source: RedisServer
    target: RedisServer
    others: Sequence[RedisServer]

    def begin(self) -> None:
        self.target.command("CLUSTER", "SETSLOT", self.slot, "IMPORTING", node_id(self.source))
        self.source.command("CLUSTER", "SETSLOT", self.slot, "MIGRATING", node_id(self.target))

    def move_keys(self, at_most: int = 10) -> int:
        """Moves some keys and returns their number; 0 when the source has none left."""
        keys = self.source.command("CLUSTER", "GETKEYSINSLOT", self.slot, at_most)
        for key in keys:
            self.source.command("MIGRATE", HOST, self.target.port, key, 0, 5_000)
        return len(keys)

    def finish(self) -> None:
        """Moves the remaining keys, then announces the new owner, beginning with itself."""
        while self.move_keys():
            pass
        owner = node_id(self.target)
        for node in (self.target, self.source, *self.others):
            node.command("CLUSTER", "SETSLOT", self.slot, "NODE", owner)
