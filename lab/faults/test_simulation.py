"""Whole regions in no time: whatever a seed brings, no promise is broken. `KVS_SEED=7` runs one seed alone.

Replicas crash, drain and are replaced, their clocks differ, calls of the store are lost, late, out of order
and repeated, clients pipeline and go away. Each answer is judged when it comes, all of them at the end.
"""

import functools
import os
from collections.abc import Sequence

import pytest

from backends.dynamodb.store_time import StoreTime
from backends.errors import BackendError
from gateway.dataplane.pipeline import MeteredCall
from gateway.domain.model import UsageOutcome
from gateway.http.listener import Listener
from lab.simulation import running
from lab.simulation.region import Region
from lab.simulation.remote import _Counters, _Entries
from lab.simulation.running import Summary, assert_nothing_is_wrong, first_wrong, in_processes
from lab.simulation.store import Store
from lab.simulation.wire import ServerEnd

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_simulation.py -k any_seed"


def simulate(seed: int) -> Region:
    return running.simulate(functools.partial(Region, seed), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def assert_all_is_right(seeds: Sequence[int], summaries: Sequence[Summary]) -> None:
    happened, statuses = assert_nothing_is_wrong(seeds, summaries)
    if len(seeds) > 1:
        assert min(statuses[status] for status in (200, 400, 401, 403, 429, 503, 0)) > 0
        assert len(happened) == 7


def test_no_promise_is_broken_by_any_seed():
    only = os.environ.get("KVS_SEED")
    seeds = range(100) if only is None else [int(only)]
    assert_all_is_right(seeds, [simulate_all(seeds)])


@pytest.mark.heavy
def test_no_promise_is_broken_by_ten_thousand_seeds():
    seeds = range(int(os.environ.get("KVS_SEEDS", "10000")))
    assert_all_is_right(seeds, in_processes(simulate_all, seeds))


def test_a_seed_repeats_the_same_simulation():
    assert simulate(7).trace == simulate(7).trace
    assert simulate(7).trace != simulate(8).trace


async def _acknowledge_what_was_given_up(self, keyspace, key, entry):
    try:
        await self._network.call(lambda: self._store.put(keyspace, key, entry), may_repeat=False)
    except BackendError:
        return


async def _admit_one_more(self, bucket, limit, window_ms, amount=1):
    store = self._network.store
    return await self._network.call(
        lambda: store.charge(bucket, limit + 1, window_ms, amount), may_repeat=True
    )


async def _remember_for_ever(self, keyspace, key):
    remembered = self.__dict__.setdefault("remembered", {})
    if (keyspace, key) not in remembered:
        remembered[keyspace, key] = await self._entries.get(keyspace, key)
    return remembered[keyspace, key]


async def _forget_whose_it_is(self, keyspace, key, entry):
    for each in [*self.inner.entries._tables, keyspace]:
        await self.inner.entries.put(each, key, entry)
    self.stored.add(entry.value)


def _count_successes_alone(self, answer):
    if answer.usage is UsageOutcome.OK:
        self.usage.count(self.grant.labels, self.call.operation, answer.usage, 0, 0)


async def _close_at_once(self, ends_at):
    self._sockets.close()
    for connection in list(self._service.connections):
        connection.abort()


def _answer_twice(self, data):
    sent = bytes(data)
    for _ in range(2):
        self._back.carry(lambda: self._tell(self.client.feed_data, sent))


def _believe_its_own_clock(self):
    return self._wall_ms()


BROKEN = {
    "a put that was given up is acknowledged": (_Entries, "put", _acknowledge_what_was_given_up),
    "a window admits one more": (_Counters, "charge", _admit_one_more),
    "a replica remembers what it read": (_Entries, "get", _remember_for_ever),
    "tables are not kept apart": (Store, "put", _forget_whose_it_is),
    "refusals are not metered": (MeteredCall, "close", _count_successes_alone),
    "a drain closes connections at once": (Listener, "stop_listening", _close_at_once),
    "replicas whose clocks are apart believe them": (StoreTime, "now_ms", _believe_its_own_clock),
    "every answer is sent twice": (ServerEnd, "write", _answer_twice),
}


@pytest.mark.parametrize(("where", "what", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_promise_is_noticed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert first_wrong(simulate_all, range(100)) != []
