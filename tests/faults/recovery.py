"""Service is back when calls are answered in a row; on a busy machine that takes as long as it takes."""

import asyncio

from tests.support.load import Load

IN_A_ROW = 100
SECONDS = 15.0


async def until_served(load: Load) -> None:
    """Until so many calls in a row were answered with 200."""
    async with asyncio.timeout(SECONDS):
        while len(load.answers) < IN_A_ROW or any(each.status != 200 for each in load.answers[-IN_A_ROW:]):
            await asyncio.sleep(0.05)


async def check_all(load: Load) -> None:
    """Read every key once more, again if a link in this busy process was too slow for the gateway."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await load.check_all()
            except AssertionError:
                await asyncio.sleep(0.5)
