"""Background work: a step that is repeated beside the calls until it is closed."""

import asyncio
import random
from collections.abc import Awaitable, Callable

Step = Callable[[], Awaitable[None]]
Seconds = Callable[[], float]
Pause = Callable[[], float | None]
OnError = Callable[[Exception], None]


def jittered(seconds: float) -> float:
    """Half of `seconds` to all of it, so that replicas that failed together do not return together."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


class Background:
    """Runs `step`, rests, and runs it again, from now until `close`.

    A rest is `cooldown()` seconds, which nothing shortens, and then `pause()` seconds, which `wake` ends
    (None: only `wake` does). Both are asked after each step. So a burst of wakes costs one step.

    An exception of a step goes to `on_error` and ends that step alone: a loop that died silently would
    leave a replica that serves and no longer maintains itself.
    """

    def __init__(self, step: Step, pause: Pause, on_error: OnError, cooldown: Seconds = lambda: 0.0) -> None:
        self._step = step
        self._pause = pause
        self._on_error = on_error
        self._cooldown = cooldown
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """End the pause, or skip the one that comes next if a step is running: it may have been too early."""
        self._woken.set()

    async def close(self) -> None:
        """Cancel what is running and wait for its end; may be repeated."""
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
