"""A machine of its own in a simulation: an event loop that runs one callback at a time and may be stopped.

All machines share the world's time. Between any two callbacks of a machine it may be stopped for any time:
its kernel goes on receiving, and its loop finds everything at once when it goes on, sockets or timers first.
"""

import asyncio
import heapq
import random
from asyncio import events
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

CALLBACK_SECONDS = 0.00001


class World:
    """The time, and the events to come."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, when: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._numbers), event))

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        self.at(self.now + seconds, event)

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until


class _NoSelector:
    """Stands in for the selector, which nobody asks."""

    def close(self) -> None:
        """Does nothing."""


class SteppedLoop(BaseEventLoop):
    """A loop whose turns are driven from outside. `connect` opens its connections."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._selector = _NoSelector()
        self._world = world
        self.connect: Callable[[asyncio.Protocol], asyncio.Transport] | None = None

    def time(self) -> float:
        return self._world.now

    async def create_connection(self, protocol_factory: Any, *_: Any, **__: Any) -> Any:
        protocol = protocol_factory()
        return self.connect(protocol), protocol

    @property
    def next_timer(self) -> float | None:
        """Time of the next timer, or None."""
        while self._scheduled and self._scheduled[0]._cancelled:
            heapq.heappop(self._scheduled)._scheduled = False
        return self._scheduled[0]._when if self._scheduled else None

    @property
    def ready(self) -> int:
        """Number of callbacks that wait for their turn."""
        return len(self._ready)

    def move_due_timers(self) -> None:
        while (when := self.next_timer) is not None and when <= self._world.now:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            self._ready.append(handle)

    def run_one(self) -> None:
        """Runs the next callback, if it was not cancelled."""
        handle = self._ready.popleft()
        if not handle._cancelled:
            outer = events._get_running_loop()
            events._set_running_loop(self)
            try:
                handle._run()
            finally:
                events._set_running_loop(outer)

    def _write_to_self(self) -> None:
        """Does nothing: no thread sleeps."""


class Machine:
    """A loop in time. `stop` begins between two callbacks: now, or after some more."""

    def __init__(self, world: World, dice: random.Random) -> None:
        self.world, self._dice = world, dice
        self.loop = SteppedLoop(world)
        self.complaints: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda _, context: self.complaints.append(context))
        self._left_in_turn = 0
        self._received: list[Callable[[], None]] = []
        self._runs_at = float("inf")
        self._stops: tuple[int, float] | None = None
        self._stopped_until = 0.0
        self._is_closed = False

    def stop(self, *, after_callbacks: int, seconds: float) -> None:
        """Stops for some time, immediately or when it has run some more callbacks."""
        if after_callbacks:
            self._stops = (after_callbacks, seconds)
        else:
            self._stopped_until = self.world.now + seconds

    @property
    def is_stopped(self) -> bool:
        """Whether it is stopped, or about to be."""
        return self._stops is not None or self.world.now < self._stopped_until

    def receive(self, taken: Callable[[], None]) -> None:
        """Lets the kernel hold something until the loop's next turn takes it."""
        if not self._is_closed:
            self._received.append(taken)
            self._wake(self.world.now)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs work to its end, while time passes."""
        task = asyncio.Task(work, loop=self.loop)
        self._wake(self.world.now)
        while not task.done():
            self.world.run(self.world.now + 0.001)
        return task.result()

    def close(self) -> None:
        """Cancels all that is left."""
        self._stops, self._stopped_until, self._is_closed = None, 0.0, True
        while tasks := asyncio.all_tasks(self.loop):
            for task in tasks:
                task.cancel()
            self._wake(self.world.now)
            self.world.run(self.world.now + 0.001)
        self.loop.close()

    def _wake(self, when: float) -> None:
        if when < self._runs_at:
            self._runs_at = when
            self.world.at(when, lambda: self._run(when))

    def _run(self, planned: float) -> None:
        if planned != self._runs_at or self.loop.is_closed():
            return
        self._runs_at = float("inf")
        if self.world.now < self._stopped_until:
            self._wake(self._stopped_until)
            return
        if not self._left_in_turn:
            self._begin_turn()
        if self._left_in_turn:
            self._left_in_turn -= 1
            self.loop.run_one()
            self._count_down()
        if self._left_in_turn or self.loop.ready or self._received:
            self._wake(max(self.world.now + CALLBACK_SECONDS, self._stopped_until))
        elif (when := self.loop.next_timer) is not None:
            self._wake(max(when, self.world.now))

    def _begin_turn(self) -> None:
        """Takes what the kernel holds, and the timers that are due: either may come first."""
        sockets_first = self._dice.random() < 0.5
        if not sockets_first:
            self.loop.move_due_timers()
        received, self._received = self._received, []
        for taken in received:
            self.loop.call_soon(taken)
        self.loop.move_due_timers()
        self._left_in_turn = self.loop.ready

    def _count_down(self) -> None:
        if self._stops is not None:
            callbacks, seconds = self._stops
            self._stops = (callbacks - 1, seconds)
            if callbacks <= 1:
                self._stops = None
                self._stopped_until = self.world.now + seconds
