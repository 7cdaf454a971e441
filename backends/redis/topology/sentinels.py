"""The master that the sentinels name, by majority (D98, D137)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import Protocol

from backends.background import Background
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, as_backend_error
from backends.redis.topology.discovery import named_master
from backends.redis.topology.one_master import OneMaster
from backends.redis.topology.server import Server
from backends.redis.wire.commands import pack
from backends.redis.wire.resp import Reply
from backends.redis.wire.url import Address

log = logging.getLogger("kvs.redis")

WATCH_SECONDS = 0.5
"""Between rounds of questions. A round takes a deadline at the most, so another master is noticed within a
second after most sentinels name it; two are promised."""


class Sentinel(Protocol):
    """What a `Server` is to this module."""

    def call(self, command: bytes) -> Awaitable[Reply]:
        """Raises BackendError, within a deadline."""
        ...

    async def close(self) -> None:
        """May be repeated."""
        ...


class Sentinels:
    """Adopts the master that more than half of all sentinels name, and keeps it until as many name another.

    Only a majority replaces a master, so who hears a majority knows of the last replacement. Fewer may be cut
    off together with an old master: nobody begins with a master on their word, and nobody leaves one. A
    master that was adopted is connected to again on the word of fewer if no answer contradicts, or else each
    lost connection would turn an outage of sentinels into one of the store.
    """

    def __init__(self, name: str, sentinels: Sequence[Sentinel]) -> None:
        self._sentinels = sentinels
        self._question = pack("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        self._adopted: Address | None = None

    async def find_master(self) -> Address:
        """Where the master is. Raises BackendError."""
        answers = await self._ask()
        named = _votes(answers)
        master = self._named_by_most(named)
        if master is None and set(named) == {self._adopted}:
            master = self._adopted
        if master is None:
            raise _doubt(answers)
        self._adopted = master
        return master

    async def name_another(self) -> bool:
        """Whether more than half name another master than the one that was adopted last."""
        master = self._named_by_most(_votes(await self._ask()))
        return master is not None and master != self._adopted

    async def close(self) -> None:
        """Give all connections back; may be repeated."""
        for sentinel in self._sentinels:
            await sentinel.close()

    async def _ask(self) -> list[Address | BackendError]:
        """All at once."""
        return await asyncio.gather(*map(self._answer, self._sentinels))

    async def _answer(self, sentinel: Sentinel) -> Address | BackendError:
        try:
            return named_master(await sentinel.call(self._question))
        except BackendError as error:
            return error

    def _named_by_most(self, named: Counter[Address]) -> Address | None:
        return next((each for each, votes in named.items() if 2 * votes > len(self._sentinels)), None)


class MasterBySentinels(OneMaster):
    """All keys on the master. It is left once it is the master no longer, though its connection may live."""

    def __init__(self, server: Server, sentinels: Sentinels) -> None:
        super().__init__(server)
        self._master = server
        self._sentinels = sentinels
        self._watching = Background(self._watch, lambda: WATCH_SECONDS, _report)

    async def close(self) -> None:
        await self._watching.close()
        await super().close()
        await self._sentinels.close()

    async def _watch(self) -> None:
        if await self._sentinels.name_another():
            log.warning("the sentinels name another master")
            self._master.leave("the sentinels name another master")


def _votes(answers: Sequence[Address | BackendError]) -> Counter[Address]:
    return Counter(answer for answer in answers if isinstance(answer, Address))


def _doubt(answers: Sequence[Address | BackendError]) -> BackendError:
    """Why none is taken for the master."""
    named, faults = _votes(answers), [each for each in answers if isinstance(each, BackendError)]
    if len(named) > 1:
        return BackendUnavailable("the sentinels name different masters")
    for fault in faults:
        if isinstance(fault, BackendMisconfigured):
            return BackendMisconfigured(f"a sentinel: {fault}")
    if not named:
        return BackendUnavailable(f"no sentinel answers: {faults[0]}")
    return BackendUnavailable(f"only {named.total()} of {len(answers)} sentinels answer")


def _report(error: Exception) -> None:
    log.error("the sentinels cannot be asked", extra={"fields": {"reason": str(as_backend_error(error))}})
