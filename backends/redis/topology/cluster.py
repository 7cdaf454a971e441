"""Calls to a cluster: each key belongs to a slot, each slot to one of several masters (D137)."""

import asyncio
from collections.abc import Sequence

from backends.errors import BackendError, BackendUnavailable
from backends.redis.topology.server import PING, Server
from backends.redis.topology.slots import SlotMap
from backends.redis.wire.commands import slot_of
from backends.redis.wire.deadlines import DEADLINE_SECONDS, deadline
from backends.redis.wire.replies import NotServed, Redirected, SlotMoving, check_alive
from backends.redis.wire.resp import Reply

MAX_REDIRECTIONS = 5
GAP_SECONDS = 0.25
"""Bound on waiting for a slot without a master; after it, calls for the slot fail immediately."""

_GAP_PAUSE_SECONDS = 0.01
_GAP_IS_OVER_SECONDS = 1.0
"""Consecutive errors at least this far apart belong to different gaps."""


class ClusterOfMasters:
    """A `Topology` that sends each call to the master of its key's slot.

    A call is sent again only if the node says that it did nothing: MOVED, ASK, TRYAGAIN, CLUSTERDOWN. After
    any other failure it may have been executed. All attempts of a call share one deadline.
    """

    def __init__(self, slots: SlotMap) -> None:
        self._slots = slots
        self._loop = asyncio.get_running_loop()
        self._gap_began = self._last_gap = -_GAP_IS_OVER_SECONDS

    async def call(self, key: bytes, command: bytes) -> Reply:
        due = self._due()
        slot = slot_of(key)
        try:
            return await self._send(slot, command, due)
        except SlotMoving as error:  # for as long as it lasts: it concerns one slot, and is no outage
            return await self._retry(slot, command, due, error, ends=due)
        except NotServed as error:
            self._slots.refresh()
            return await self._retry_in_gap(slot, command, due, error)
        except BackendUnavailable:
            self._slots.refresh()
            raise

    async def masters(self) -> Sequence[Server]:
        return await self._slots.masters(self._due())

    async def ping(self) -> None:
        masters = await self.masters()
        try:
            for reply in await asyncio.gather(*(master.call(PING) for master in masters)):
                check_alive(reply)
        except BackendError:
            self._slots.refresh()
            raise

    async def close(self) -> None:
        await self._slots.close()

    def _due(self) -> float:
        return self._loop.time() + DEADLINE_SECONDS

    async def _send(self, slot: int, command: bytes, due: float) -> Reply:
        server = self._slots.owner(slot)
        try:
            if server is not None:
                return await server.call(command)
            async with deadline(due):
                owner = await self._slots.first_owner(slot, due)
            async with deadline(due):
                return await owner.call(command)
        except Redirected as redirection:
            return await self._follow(redirection, command, due)

    async def _follow(self, redirection: Redirected, command: bytes, due: float) -> Reply:
        """Sends a command to the node that a redirection names.

        MOVED corrects the map: the slot has a new owner. ASK does not: the slot is still moving, only this
        key has arrived, and the new node serves it only after ASKING.
        """
        for _ in range(MAX_REDIRECTIONS):
            try:
                async with deadline(due):
                    if redirection.is_asking:
                        return await self._slots.server_at(redirection.address).call_asking(command)
                    return await self._slots.assign(redirection.slot, redirection.address).call(command)
            except Redirected as another:
                redirection = another
        raise BackendUnavailable(f"redirected more than {MAX_REDIRECTIONS} times").before_anything()

    async def _retry_in_gap(self, slot: int, command: bytes, due: float, error: NotServed) -> Reply:
        """Retries while the slot may be between two masters.

        In a planned failover a node may learn of the old master's demotion before it learns of the new
        master; until then it answers CLUSTERDOWN, and calls would fail for some milliseconds. The gap is
        bounded for the cluster, not per call: in a lasting outage only the calls of its first `GAP_SECONDS`
        wait, and all later ones fail immediately (D90).
        """
        try:
            return await self._retry(slot, command, due, error, ends=min(due, self._end_of_gap()))
        except NotServed:
            self._last_gap = self._loop.time()
            raise

    async def _retry(self, slot: int, command: bytes, due: float, error: NotServed, *, ends: float) -> Reply:
        """Sends a command again, as long as no node executes it, until shortly before `ends`."""
        while self._loop.time() + _GAP_PAUSE_SECONDS < ends:
            await asyncio.sleep(_GAP_PAUSE_SECONDS)
            try:
                async with deadline(due):
                    return await self._send(slot, command, due)
            except NotServed as again:
                error = again
        raise error

    def _end_of_gap(self) -> float:
        """Returns the time until which calls that meet the gap now are retried."""
        now = self._loop.time()
        if now - self._last_gap >= _GAP_IS_OVER_SECONDS:
            self._gap_began = now
        self._last_gap = now
        return self._gap_began + GAP_SECONDS
