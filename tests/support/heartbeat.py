"""Holds of the event loop: by its own callbacks, and by other threads that kept the interpreter."""

import asyncio
import time
from contextlib import suppress
from typing import Self

_BEAT_SECONDS = 0.001


class Heartbeat:
    """The longest holds of the running loop while the block runs, in processor time of this process.

    A machine that is busy with others makes neither longer. `loop_ms` is the work of the loop's own thread
    between two beats, `process_ms` that of all threads beyond the pause, in which others are free to work.
    """

    def __init__(self) -> None:
        self.loop_ms = 0.0
        self.process_ms = 0.0

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat())
        await asyncio.sleep(2 * _BEAT_SECONDS)
        self.loop_ms = self.process_ms = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(2 * _BEAT_SECONDS)
        self._beating.cancel()
        with suppress(asyncio.CancelledError):
            await self._beating

    async def _beat(self) -> None:
        while True:
            loop_began, process_began = time.thread_time(), time.process_time()
            await asyncio.sleep(_BEAT_SECONDS)
            process = time.process_time() - process_began - _BEAT_SECONDS
            self.loop_ms = max(self.loop_ms, 1000 * (time.thread_time() - loop_began))
            self.process_ms = max(self.process_ms, 1000 * process)
