"""Service is back when calls are answered in a row; on a busy machine that takes as long as it takes."""

import asyncio

from lab.store_faults.test_redis import CODES
from tests.support.load import Load

IN_A_ROW = 100
SECONDS = 15.0
LATEST_SECONDS = 0.6
"""Where a link is slow, a call that is counted late may be given up after that: two deadlines of 250 ms."""


async def until_served(load: Load) -> None:
    """Until so many calls in a row were answered with 200."""
    async with asyncio.timeout(SECONDS):
        while not _is_served(load):  # noqa: ASYNC110 - the clients are many
            await asyncio.sleep(0.05)


def _is_served(load: Load) -> bool:
    latest = load.answers[-IN_A_ROW:]
    return len(latest) == IN_A_ROW and all(answer.status == 200 for answer in latest)


async def check_all(load: Load) -> None:
    """Read every key once more, again if a link in this busy process was too slow for the gateway."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await load.check_all()
            except AssertionError:
                await asyncio.sleep(0.5)


def assert_right_and_in_time(load: Load) -> None:
    """Every answer is true, or a refusal that says so; connections may end with a replica."""
    assert load.lies == []
    assert {answer.status for answer in load.answers} <= {0, 200, 503}
    assert {answer.code for answer in load.answers if answer.status == 503} <= CODES
    latest = max((each for each in load.answers if each.status), key=lambda answer: answer.seconds)
    assert latest.seconds < LATEST_SECONDS + load.held_up, latest
