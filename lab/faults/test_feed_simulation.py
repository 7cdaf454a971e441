"""A feed of changes that is cut, in no time: a revoked token ends in time, a valid one outlives an outage.

`KVS_SEED=7` runs one seed alone, `KVS_SEEDS` that many (D111).
"""

import functools
import os

import pytest

from backends.dynamodb.announcements import Position
from gateway.directory.resolve import feed
from gateway.directory.resolve.feed import FeedFollower
from gateway.directory.resolve.freshness import Freshness
from lab.simulation import running
from lab.simulation.feeds import Feeds
from lab.simulation.records import StoreRecords
from lab.simulation.running import first_wrong, in_processes
from tests.support.evidence import note_statuses

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_feed_simulation.py -k any_seed"


def simulate(seed: int) -> Feeds:
    return running.simulate(functools.partial(Feeds, seed), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def assert_nothing_is_wrong(seeds, summaries) -> None:
    for wrong, happened, statuses in summaries:
        note_statuses(statuses, faults=happened, tried=0)
        assert wrong == []
        assert len(seeds) == 1 or min(statuses[status] for status in (200, 401, 503)) > 0


def test_no_token_outlives_its_revocation_with_any_seed():
    only = os.environ.get("KVS_SEED")
    seeds = range(60) if only is None else [int(only)]
    assert_nothing_is_wrong(seeds, [simulate_all(seeds)])


@pytest.mark.heavy
def test_no_token_outlives_its_revocation_with_ten_thousand_seeds():
    seeds = range(int(os.environ.get("KVS_SEEDS", "10000")))
    assert_nothing_is_wrong(seeds, in_processes(simulate_all, seeds))


_changes, _expire, _feed_confirmed = StoreRecords.changes, Freshness.expire, Freshness.feed_confirmed


def _miss_nothing(self, now_ms):
    return None


def _confirm_to_the_poll(self, polled_at_ms, changes):
    return polled_at_ms


def _never_be_behind(self, as_of_ms, *, is_complete, lag_ms=0):
    _feed_confirmed(self, as_of_ms, is_complete=is_complete)


async def _never_admit_a_gap(self, position):
    answer = await _changes(self, position)
    return type(answer)(answer.names, answer.position, is_complete=position is not None)


def _outlive_no_outage(self, cached):
    _expire(self, cached)
    cached.may_be_stale = False


BROKEN = {
    "a missing announcement is overlooked": (Position, "unsettled_ms", _miss_nothing),
    "an answer confirms what it does not have": (FeedFollower, "_confirmed_as_of_ms", _confirm_to_the_poll),
    "a feed that is behind shortens nothing": (Freshness, "feed_confirmed", _never_be_behind),
    "a feed that was cut short is taken for complete": (StoreRecords, "changes", _never_admit_a_gap),
    "no binding outlives an outage": (Freshness, "expire", _outlive_no_outage),
    "a failed poll waits for a whole pause": (feed, "_RETRY_SECONDS", 1.0),
}


@pytest.mark.parametrize(("where", "what", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_a_promise_of_the_feed_that_is_broken_is_noticed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert first_wrong(simulate_all, range(200)) != []
