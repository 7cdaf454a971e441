"""Masters that are replaced, in no time: 2 s after most sentinels name another, nobody calls the old one.

`KVS_SEED=7` runs one seed alone, `KVS_SEEDS` that many (D111).
"""

import functools
import os

import pytest

from backends.redis.topology.one_master import MasterBySentinels
from backends.redis.topology.sentinels import Sentinels
from lab.simulation import running
from lab.simulation.masters import Masters
from lab.simulation.running import assert_served_and_refused, first_wrong, in_processes

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_master_simulation.py -k any_seed"


def simulate(seed: int) -> Masters:
    return running.simulate(functools.partial(Masters, seed), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def test_no_old_master_is_called_with_any_seed():
    only = os.environ.get("KVS_SEED")
    seeds = range(200) if only is None else [int(only)]
    assert_served_and_refused(seeds, [simulate_all(seeds)])


@pytest.mark.heavy
def test_no_old_master_is_called_with_ten_thousand_seeds():
    seeds = range(int(os.environ.get("KVS_SEEDS", "10000")))
    assert_served_and_refused(seeds, in_processes(simulate_all, seeds))


async def _trust_the_connection(self):
    """The connection lives, and so nobody is asked."""


def _believe_the_first(self, votes):
    return next(iter(votes), None)


BROKEN = {
    "a live connection is trusted": (MasterBySentinels, "_watch", _trust_the_connection),
    "the first sentinel to answer is believed": (Sentinels, "_majority", _believe_the_first),
}


@pytest.mark.parametrize(("where", "what", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_a_master_that_is_kept_or_taken_wrongly_is_noticed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert first_wrong(simulate_all, range(200)) != []
