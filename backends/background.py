"""Work that runs beside the calls, again and again, until it is closed."""

import asyncio
from collections.abc import Awaitable, Callable

Step = Callable[[], Awaitable[None]]
Pause = Callable[[], float | None]


class Background:
    """Runs `step`, waits for `pause` seconds (None: until `wake`), and so on. `wake` ends any pause.

    An exception of a step goes to `on_error` and costs that step alone: a loop that died silently would
    leave a replica that serves and no longer looks after itself.
    """

    def __init__(self, step: Step, pause: Pause, on_error: Callable[[Exception], None]) -> None:
        self._step = step
        self._pause = pause
        self._on_error = on_error
        self._woken = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Run the next step now, or right after the one that is running."""
        self._woken.set()

    async def close(self) -> None:
        """Cancel what is running and wait for its end; may be repeated."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._woken.clear()  # before the step: a wake during it means that it may have come too early
            try:
                await self._step()
            except Exception as error:
                self._on_error(error)
            await self._rest(self._pause())

    async def _rest(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
