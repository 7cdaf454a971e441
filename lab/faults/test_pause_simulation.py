"""Replicas that are stopped at any point, in no time: no old write undoes a newer one that was acknowledged.

`KVS_SEED=7` runs one seed alone, `KVS_SEEDS` that many (D111).
"""

import functools
import os

import pytest

from backends.redis.wire import connection as redis_connection
from gateway.http import connection as http_connection
from gateway.http.connection import Connection
from gateway.http.fence import LATEST_SECONDS, Fence
from lab.simulation import running
from lab.simulation.pauses import Pauses
from lab.simulation.running import assert_served_and_refused, first_wrong, in_processes

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_pause_simulation.py -k any_seed"


def simulate(seed: int) -> Pauses:
    return running.simulate(functools.partial(Pauses, seed), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def test_no_old_write_undoes_a_newer_one_with_any_seed():
    only = os.environ.get("KVS_SEED")
    seeds = range(20) if only is None else [int(only)]
    assert_served_and_refused(seeds, [simulate_all(seeds)])


@pytest.mark.heavy
def test_no_old_write_undoes_a_newer_one_with_two_thousand_seeds():
    seeds = range(int(os.environ.get("KVS_SEEDS", "2000")))
    assert_served_and_refused(seeds, in_processes(simulate_all, seeds))


def _always(_self):
    return True


def _trust(_self):
    """Distrusts nothing."""


def _is_new(_self, _transport):
    return False


BROKEN = {
    "the fence is off": (Connection, "may_write", _always),
    "commands of Redis wait for ever": (redis_connection, "DEADLINE_SECONDS", 60.0),
    "a write may be of any age": (http_connection, "LATEST_SECONDS", 60.0),
    "connections are trusted after a standstill": (Connection, "distrust", _trust),
    "the backlog is trusted after a standstill": (Fence, "is_from_before", _is_new),
    "clients that have left are waited for": (http_connection, "LATE_SECONDS", LATEST_SECONDS),
}


@pytest.mark.parametrize(("where", "what", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_a_hole_in_the_fence_is_noticed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert "was acknowledged" in first_wrong(simulate_all, range(60))[0]
