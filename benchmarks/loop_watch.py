"""How long the event loop of this process is held, in processor time, so that other programs do not count."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import process_time, thread_time

from benchmarks.figures import Hold

_BEAT_SECONDS = 0.001


async def watch(work: Callable[[], Awaitable[object]]) -> Hold:
    """Of the loop in which this runs, while `work` is done."""
    longest = [0.0, 0.0]

    async def beat() -> None:
        while True:
            loop, everything = thread_time(), process_time()
            await asyncio.sleep(_BEAT_SECONDS)
            longest[0] = max(longest[0], thread_time() - loop)
            longest[1] = max(longest[1], process_time() - everything - _BEAT_SECONDS)

    began = process_time()
    beating = asyncio.create_task(beat())
    await asyncio.sleep(10 * _BEAT_SECONDS)
    await work()
    await asyncio.sleep(10 * _BEAT_SECONDS)
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating
    return Hold(1000 * longest[0], 1000 * longest[1], 1000 * (process_time() - began))
