"""Whole regions of managed apps in no time. `KVS_SEED=7` runs one seed alone, `KVS_SEEDS` that many (D111).

Operators change apps at any replica while replies are lost, replicas are cut off, crash in the midst of a
change and are replaced, apps are declared and not any more, records are corrupted, the feed of changes is cut
short. Callers try every token that was ever issued, everywhere. The judges know what the store held when.
"""

import functools
import os
from collections.abc import Sequence
from inspect import signature

import pytest

from lab.faults.breaking import BROKEN, SHOWN_BY
from lab.simulation import running
from lab.simulation.directories import Directories
from lab.simulation.running import Summary, assert_nothing_is_wrong, first_wrong, in_processes

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_directory_simulation.py -k any_seed"
SMALL, REGION = 5, 100_000
"""Apps in the directory."""


def simulate(seed: int, apps: int = SMALL) -> Directories:
    return running.simulate(functools.partial(Directories, seed, apps), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def assert_all_is_right(seeds: Sequence[int], summaries: Sequence[Summary]) -> None:
    happened, statuses = assert_nothing_is_wrong(seeds, summaries)
    if len(seeds) > 10:
        assert min(statuses[status] for status in (200, 201, 204, 401, 403, 404, 409, 503, 0)) > 0
        assert len(happened) == 13


def test_no_promise_of_the_directory_is_broken_by_any_seed():
    only = os.environ.get("KVS_SEED")
    seeds = range(60) if only is None else [int(only)]
    assert_all_is_right(seeds, [simulate_all(seeds)])


def test_no_promise_is_broken_in_a_region_of_100_000_apps():
    in_a_region = functools.partial(simulate, apps=REGION)
    assert_all_is_right(range(3), [running.simulate_all(in_a_region, COMMAND, range(3))])


@pytest.mark.heavy
def test_no_promise_of_the_directory_is_broken_by_ten_thousand_seeds():
    seeds = range(int(os.environ.get("KVS_SEEDS", "10000")))
    assert_all_is_right(seeds, in_processes(simulate_all, seeds))


def test_a_seed_repeats_the_same_simulation():
    assert simulate(7).trace == simulate(7).trace
    assert simulate(7).trace != simulate(8).trace


@pytest.mark.parametrize("promise", BROKEN)
def test_the_simulation_notices_a_broken_promise_of_the_directory(monkeypatch, promise):
    where, what, broken = BROKEN[promise]
    assert len(signature(broken).parameters) == len(signature(getattr(where, what)).parameters)
    monkeypatch.setattr(where, what, broken)
    first = SHOWN_BY.get(promise, 0)
    assert first_wrong(simulate_all, range(first, first + 1000)) != []
