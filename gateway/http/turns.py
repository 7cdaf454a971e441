"""Turns: requests of the other listeners share the event loop in short pieces, one piece at a time.

All listeners share one loop, and a loop is fair to tasks and not to planes: 8 long listings would run 8
pieces before each step of a call. So the handlers of the other listeners run in turns. A piece ends where the
handler waits, at the first `asyncio.sleep(0)` in a new millisecond, or after `MAX_STEPS` of them. Between two
pieces the loop runs all other tasks. While calls are in flight, a piece of n milliseconds is followed by a
pause of 9 n: the data plane keeps nine tenths of the loop. So the delay of a call depends neither on the
number of clients nor on what they ask for.

Each lane has a queue of its own, and lanes alternate: listings delay no probe, and scrapes delay no workload.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

from gateway.domain.answers import refuse
from gateway.domain.errors import Overloaded
from gateway.http.messages import Handler, Request, Response

MAX_REQUESTS = 32
"""Requests of one lane that are served concurrently. More would not be served sooner."""

MAX_BODIES = MAX_REQUESTS // 2
"""Incoming bodies in one lane: slow senders use up half of its requests at most."""

MAX_STEPS = 100
"""Maximum steps of one piece, even if the clock stands still: each step ends at an `asyncio.sleep(0)`."""

_PAUSES = 9
"""Milliseconds of pause for each millisecond of work, while the data plane is busy."""

_LONGEST_PAUSE_MS = 100
"""Bound for a process that was stopped within a piece."""

_CHECK_SECONDS = 0.001
"""Interval of checks whether the data plane is still busy: calls themselves never end a pause."""

Result = TypeVar("Result")

CoroutineHandler = Callable[[Request], Coroutine[Any, Any, Response]]


class Turns:
    """The turns of one process. `is_busy` returns whether calls of the data plane are in flight."""

    def __init__(self, now_ms: Callable[[], int], is_busy: Callable[[], bool]) -> None:
        self.now_ms = now_ms
        self._is_busy = is_busy
        self._lanes: deque[Lane] = deque()
        self._owed_ms = 0
        self.is_free = True
        self.refusals, self.handshakes = self.lane(max_requests=None), self.lane(max_requests=None)

    def lane(self, *, max_requests: int | None = MAX_REQUESTS) -> "Lane":
        """Adds a lane, which refuses requests beyond `max_requests`."""
        lane = Lane(self, max_requests)
        self._lanes.append(lane)
        return lane

    def end(self, begun_ms: int) -> None:
        """Ends a piece. The next one begins after all other tasks have run."""
        self._owed_ms = min(_PAUSES * (self.now_ms() - begun_ms), _LONGEST_PAUSE_MS)
        asyncio.get_running_loop().call_soon(self._go_on)

    def pass_on(self) -> None:
        """Gives the turn to the next lane with a waiting request, if any."""
        for _ in range(len(self._lanes)):
            self._lanes.rotate(-1)
            if self._lanes[-1].wake_first():
                return
        self.is_free = True

    def _go_on(self) -> None:
        if self._owed_ms > 0 and self._is_busy():
            self._owed_ms -= 1
            asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._go_on)
        else:
            self._owed_ms = 0
            self.pass_on()


class Lane:
    """Requests that wait in one queue for their turns."""

    def __init__(self, turns: Turns, max_requests: int | None) -> None:
        self._turns = turns
        self._max_requests = max_requests
        self._served = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def has_waiting(self) -> bool:
        """Tests whether anything waits for its turn."""
        return bool(self._waiting)

    def paced(self, handler: CoroutineHandler) -> Handler:
        """Returns a handler that does the same in turns, and refuses requests beyond the bound."""

        async def handle(request: Request) -> Response:
            if self._max_requests is not None and self._served >= self._max_requests:
                # Refusals take turns as well: a thousand clients may repeat refused requests immediately.
                return await self._turns.refusals.run(_refused())
            self._served += 1
            try:
                return await self.run(handler(request))
            finally:
                self._served -= 1

        return handle

    @coroutine
    def run(self, work: Coroutine[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """Runs a coroutine in pieces. A cancellation reaches it without a turn."""
        raised: BaseException | None = None
        try:
            while True:
                is_turn = not isinstance(raised, asyncio.CancelledError)
                if is_turn:
                    try:
                        yield from self._take_turn()
                    except asyncio.CancelledError as cancelled:
                        raised, is_turn = cancelled, False
                begun_ms = self._turns.now_ms()
                try:
                    awaited = self._run_piece(work, raised, begun_ms)
                finally:
                    if is_turn:
                        self._turns.end(begun_ms)
                raised = None
                if awaited is not None:
                    try:
                        yield awaited
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        raised = error
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        finally:
            work.close()

    def wake_first(self) -> bool:
        """Gives the turn to the request that has waited longest. Returns False if none waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False

    def _take_turn(self) -> Generator[Any, None, None]:
        if self._turns.is_free:
            self._turns.is_free = False
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            yield from turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._turns.pass_on()
            raise

    def _run_piece(
        self, work: Coroutine[Any, Any, object], raised: BaseException | None, begun_ms: int
    ) -> Any:
        """Returns the future that the work awaits, or None if the piece is over before."""
        awaited = work.send(None) if raised is None else work.throw(raised)
        steps = 1
        while awaited is None and steps < MAX_STEPS and self._turns.now_ms() == begun_ms:
            awaited = work.send(None)
            steps += 1
        return awaited


async def _refused() -> Response:
    return Response(refuse(Overloaded()))
