"""Large reads take turns: each may answer a megabyte, and the calls of all tenants share one event loop.

They also share one connection to Redis. A hundred lists at once would hold both for longer than a call's
deadline, and the calls of all tenants would fail. A tenant within its limit may send six hundred.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from backends.tables import EntryOperation, GetEntry
from gateway.domain.errors import Overloaded

AT_ONCE = 4
"""Large reads in flight. More would be answered no sooner: each occupies this event loop for milliseconds."""

MOST_WAITING = 100
"""Large reads of one app environment that wait."""

LONGEST_WAIT_SECONDS = 2.0

_SMALL_GETS = 4
"""Gets of a batch that together answer at most 256 KiB."""

_REFUSED = "too many large reads at this replica: lists, and batches of more than 4 gets; repeat the request"


def is_large_batch(operations: Sequence[EntryOperation]) -> bool:
    """Returns whether the results of a batch may be large."""
    return sum(type(each) is GetEntry for each in operations) > _SMALL_GETS


class LargeReads:
    """The turns of one process. App environments alternate, so none waits for all that another has sent."""

    def __init__(self) -> None:
        self._running = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def begin(self, home: str) -> None:
        """Waits for a turn, which the caller must `end`. Raises Overloaded: there is none in time."""
        if self._running < AT_ONCE:
            self._running += 1
            return
        waiting = self._waiting.setdefault(home, deque())
        if len(waiting) >= MOST_WAITING:
            raise Overloaded(_REFUSED)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            async with asyncio.timeout(LONGEST_WAIT_SECONDS):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.end()
            if isinstance(error, TimeoutError):
                raise Overloaded(_REFUSED) from None
            raise

    def end(self) -> None:
        """Passes the turn on: to the next app environment, and there to the read that has waited longest."""
        while self._waiting:
            home = next(iter(self._waiting))
            waiting = self._waiting.pop(home)
            while waiting:
                turn = waiting.popleft()
                if not turn.done():
                    if waiting:
                        self._waiting[home] = waiting
                    turn.set_result(None)
                    return
        self._running -= 1
