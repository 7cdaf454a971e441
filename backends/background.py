"""Background work: a step that is repeated until it is closed."""

import asyncio
import random
from collections.abc import Awaitable, Callable

Step = Callable[[], Awaitable[None]]
Seconds = Callable[[], float]
Pause = Callable[[], float | None]
OnError = Callable[[Exception], None]


def jittered(seconds: float) -> float:
    """Returns between half of `seconds` and all of it, so replicas that failed together retry apart."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


class Background:
    """Runs `step`, rests, and runs it again, from construction until `close`.

    A rest is `cooldown()` seconds, which nothing shortens, then `pause()` seconds, which `wake` ends early
    (None: only `wake` ends it). Both are called after each step. A burst of wakes costs one step.

    An exception ends its step alone and goes to `on_error`: a loop that died silently would leave a replica
    that serves and no longer maintains itself.
    """

    def __init__(self, step: Step, pause: Pause, on_error: OnError, cooldown: Seconds = lambda: 0.0) -> None:
        self._step = step
        self._pause = pause
        self._on_error = on_error
        self._cooldown = cooldown
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Ends the pause; during a step, skips the next one: the step may have read its input too early."""
        self._woken.set()

    async def close(self) -> None:
        """Cancels the loop and waits for its end; may be repeated."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._step()
            except Exception as error:
                self._on_error(error)
            await asyncio.sleep(self._cooldown())
            await self._rest(self._pause())

    async def _rest(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
