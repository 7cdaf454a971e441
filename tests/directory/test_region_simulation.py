"""A region of 10,000 apps in virtual time: one simulation per seed, with both kinds of feed (D111).

The promise: no revoked token works later than 2 s and the partition, and none later than the cache time. More
seeds, larger regions, and each promise broken on purpose are in `lab/faults`.
"""

import pytest

from lab.simulation import running
from lab.simulation.directories import Directories

APPS = 10_000
COMMAND = "seed {} of tests/directory/test_region_simulation.py"
FEEDS = {
    "a stream, masters that are replaced": (0, 2, 28),
    "numbers, announcements that are late": (1, 3, 63),
}


def _simulate(seed: int) -> Directories:
    return running.simulate(lambda: Directories(seed, APPS), seed)


@pytest.mark.parametrize("seeds", FEEDS.values(), ids=FEEDS.keys())
def test_no_revoked_token_outlives_its_time_in_a_region_of_10_000_apps(seeds):
    summary = running.simulate_all(_simulate, COMMAND, seeds)
    _, statuses = running.assert_nothing_is_wrong(seeds, [summary])
    assert min(statuses[status] for status in (200, 201, 401, 503)) > 0
