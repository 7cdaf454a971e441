"""Whole regions in no time: whatever a seed brings, no promise is broken. `KVS_SEED=7` runs one seed alone.

Replicas crash, drain and are replaced, their clocks differ, calls of the store are lost, late, out of order
and repeated, clients pipeline and go away. Each answer is judged when it comes, all of them at the end.
"""

import logging
import os
import random
from collections import Counter

import pytest

from tests.faults.simulation.loop import run_in_no_time
from tests.faults.simulation.region import Region
from tests.support.evidence import note, note_statuses

COMMAND = "KVS_SEED={} python -m pytest -m '' tests/faults/test_simulation.py -k seeds"


def simulate(seed: int) -> Region:
    async def whole() -> Region:
        region = Region(seed)
        await region.run()
        return region

    random.seed(seed)
    return run_in_no_time(whole())


@pytest.fixture(autouse=True)
def _silence():
    """Faults are many and foreseen; what the log says of them has tests of its own."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(200), id="200 seeds"),
        pytest.param(range(200, 10_000), id="10,000 seeds", marks=pytest.mark.heavy),
    ],
)
def test_no_seed_breaks_a_promise(seeds):
    if one := os.environ.get("KVS_SEED"):
        seeds = [int(one)]
    happened: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    for seed in seeds:
        try:
            region = simulate(seed)
        except Exception as fault:
            raise AssertionError(COMMAND.format(seed)) from fault
        happened += region.happened
        statuses += region.statuses + Counter({0: region.unanswered})
        assert region.faults == [], COMMAND.format(seed)
    note_statuses(statuses, faults=happened)
    note(tried=len(seeds))
    if not one:
        assert min(statuses[status] for status in (200, 401, 403, 429, 503, 0)) > 0
        assert len(happened) == 7


def test_a_seed_brings_the_same_again():
    assert simulate(7).trace == simulate(7).trace
    assert simulate(7).trace != simulate(8).trace
