"""The master that the sentinels name, by majority (D137)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Protocol

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from backends.redis.topology.discovery import named_master
from backends.redis.wire.commands import pack
from backends.redis.wire.resp import Reply
from backends.redis.wire.url import Address


class Sentinel(Protocol):
    """The part of a `Server` that this module uses."""

    def call(self, command: bytes) -> Awaitable[Reply]:
        """Returns the reply to a command. Raises BackendError, at a deadline at the latest."""
        ...

    async def close(self) -> None:
        """Closes the connection; may be repeated."""
        ...


class Sentinels:
    """The sentinels of one master, and the master that was adopted from them.

    A master is adopted when more than half of all sentinels name it, and kept until more than half name
    another. A failover needs a majority of the sentinels, so every majority includes one that knows the last
    failover. A minority may be cut off together with an old master: it neither introduces a master nor
    replaces one.

    There is one exception: without a majority, the adopted master may be connected to again if no answer
    names another one. Otherwise each lost connection during an outage of the sentinels would become an
    outage of the store. A replica that has adopted none yet waits for a majority: answers of a few may be
    stale, and a replica that is not ready costs nothing while the others serve.
    """

    def __init__(self, name: str, sentinels: Sequence[Sentinel]) -> None:
        self._sentinels = sentinels
        self._question = pack("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        self._adopted: Address | None = None

    async def find_master(self) -> Address:
        """Returns the master's address and adopts it. Raises BackendError."""
        answers = await self._poll()
        votes = _votes(answers)
        master = self._majority(votes)
        if master is None and set(votes) == {self._adopted}:
            master = self._adopted
        if master is None:
            raise _no_majority(answers)
        self._adopted = master
        return master

    async def name_another(self) -> bool:
        """Returns whether more than half name another master than the adopted one."""
        master = self._majority(_votes(await self._poll()))
        return master is not None and master != self._adopted

    async def close(self) -> None:
        """Closes all connections; may be repeated."""
        for sentinel in self._sentinels:
            await sentinel.close()

    async def _poll(self) -> list[Address | BackendError]:
        """Asks all sentinels concurrently."""
        return await asyncio.gather(*map(self._answer, self._sentinels))

    async def _answer(self, sentinel: Sentinel) -> Address | BackendError:
        try:
            return named_master(await sentinel.call(self._question))
        except BackendError as error:
            return error

    def _majority(self, votes: Counter[Address]) -> Address | None:
        """Counts against all configured sentinels, not only those that answered."""
        return next((each for each, count in votes.items() if 2 * count > len(self._sentinels)), None)


def _votes(answers: Sequence[Address | BackendError]) -> Counter[Address]:
    return Counter(answer for answer in answers if isinstance(answer, Address))


def _no_majority(answers: Sequence[Address | BackendError]) -> BackendError:
    """Returns the error that says why no master can be adopted."""
    votes, faults = _votes(answers), [each for each in answers if isinstance(each, BackendError)]
    if len(votes) > 1:
        return BackendUnavailable("the sentinels name different masters")
    for fault in faults:
        if isinstance(fault, BackendMisconfigured):
            return BackendMisconfigured(f"a sentinel: {fault}")
    if not votes:
        return BackendUnavailable(f"no sentinel answers: {faults[0]}")
    return BackendUnavailable(f"only {votes.total()} of {len(answers)} sentinels answer")
