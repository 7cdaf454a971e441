"""A cluster of masters, with or without replicas."""

import contextlib
from typing import Self

from tests.support.ports import HOST
from tests.support.redis.server import REPLICATION, Directive, RedisServer, is_in_step
from tests.support.redis.slots import SLOTS, SlotMap, SlotMove, node_id, shares, slot_map
from tests.support.servers import wait_for


class Cluster:
    """A cluster, ready when every node reports it as ok and all agree on the slots.

    `nodes` begins with the initial masters; the replicas of the first follow, then those of the second.
    """

    def __init__(
        self,
        *,
        masters: int = 3,
        replicas_each: int = 0,
        node_timeout_ms: int = 1_000,
        **directives: Directive,
    ) -> None:
        self.nodes: list[RedisServer] = []
        self._masters = masters
        self._replicas_each = replicas_each
        self._processes = contextlib.ExitStack()
        self._directives: dict[str, Directive] = {
            "cluster-enabled": "yes",
            "cluster-node-timeout": node_timeout_ms,
            "cluster-announce-ip": HOST,
            "cluster-replica-validity-factor": 0,
            **REPLICATION,
            **directives,
        }

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def slot_of(self, key: str | bytes) -> int:
        return self._running()[0].command("CLUSTER", "KEYSLOT", key)

    def owner_of(self, slot: int) -> RedisServer:
        """Returns the running node that claims the slot; right after a move, other nodes may be wrong."""
        return next(node for node in self._running() if _believes_to_own(node, slot))

    def kill(self, node: RedisServer) -> None:
        node.kill()

    def move_slot(self, slot: int, to: RedisServer) -> None:
        move = self.slot_move(slot, to)
        move.begin()
        move.finish()
        self.wait_until_whole()

    def slot_move(self, slot: int, to: RedisServer) -> SlotMove:
        """Returns a move whose steps the test takes one by one."""
        source = self.owner_of(slot)
        owners = {port for _, _, port in slot_map(source)}
        others = [node for node in self.nodes if node.port in owners and node not in {source, to}]
        return SlotMove(slot, source, to, others)

    def wait_until_whole(self) -> None:
        """Waits until all running nodes agree that running masters own all slots."""
        wait_for(self._is_whole, "the cluster does not agree on its slots")

    def __enter__(self) -> Self:
        with self._processes:
            for _ in range(self._masters * (1 + self._replicas_each)):
                self.nodes.append(self._processes.enter_context(RedisServer(**self._directives)))
            self._assign_slots()
            self._introduce()
            self._add_replicas()
            self.wait_until_whole()
            self._processes = self._processes.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def _assign_slots(self) -> None:
        for epoch, node in enumerate(self.nodes, start=1):
            node.command("CLUSTER", "SET-CONFIG-EPOCH", epoch)
        for node, share in zip(self.nodes, shares(self._masters), strict=False):
            node.command("CLUSTER", "ADDSLOTS", *share)

    def _introduce(self) -> None:
        """Introduces every node to every other: gossip alone would take seconds."""
        for node in self.nodes:
            for other in self.nodes:
                if other is not node:
                    node.command("CLUSTER", "MEET", HOST, other.port)
        wait_for(self._know_each_other, "the nodes of the cluster do not meet")

    def _know_each_other(self) -> bool:
        identities = [node_id(node) for node in self.nodes]
        views = [node.command("CLUSTER", "NODES") for node in self.nodes]
        return all(b"handshake" not in view and all(each in view for each in identities) for view in views)

    def _add_replicas(self) -> None:
        masters, replicas = self.nodes[: self._masters], self.nodes[self._masters :]
        for position, replica in enumerate(replicas):
            master = masters[position // self._replicas_each]
            replica.command("CLUSTER", "REPLICATE", node_id(master))
        wait_for(lambda: all(map(is_in_step, replicas)), "the replicas do not catch up")

    def _is_whole(self) -> bool:
        running = self._running()
        views = {slot_map(node) for node in running}
        states = [node.command("CLUSTER", "INFO") for node in running]
        return (
            all(b"cluster_state:ok" in state for state in states)
            and len({_epoch(state) for state in states}) == 1  # else two moves in a row may end in a draw
            and len(views) == 1
            and _covers_all_slots(views.pop(), {node.port for node in running})
        )

    def _running(self) -> list[RedisServer]:
        return [node for node in self.nodes if node.running]


def _epoch(cluster_info: bytes) -> bytes:
    return next(line for line in cluster_info.splitlines() if line.startswith(b"cluster_current_epoch"))


def _believes_to_own(node: RedisServer, slot: int) -> bool:
    return any(first <= slot <= last and port == node.port for first, last, port in slot_map(node))


def _covers_all_slots(ranges: SlotMap, ports: set[int]) -> bool:
    return sum(last - first + 1 for first, last, port in ranges if port in ports) == SLOTS
