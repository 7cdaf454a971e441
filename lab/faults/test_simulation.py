"""Whole regions in no time: whatever a seed brings, no promise is broken. `KVS_SEED=7` runs one seed alone.

Replicas crash, drain and are replaced, their clocks differ, calls of the store are lost, late, out of order
and repeated, clients pipeline and go away. Each answer is judged when it comes, all of them at the end.
"""

import functools
import os
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from backends.dynamodb.store_time import StoreTime
from backends.errors import BackendError
from backends.tables import (
    ANY,
    AddToEntry,
    Budget,
    DeleteEntry,
    GetEntry,
    ListEntries,
    PutEntry,
    Revision,
    Revisions,
    Written,
)
from gateway.dataplane.metering import MeteredCall
from gateway.domain.model import UsageOutcome
from gateway.http.listener import Listener
from lab.simulation import running
from lab.simulation.region import Region
from lab.simulation.remote import RemoteSteps, RemoteTables
from lab.simulation.running import Summary, assert_nothing_is_wrong, first_wrong, in_processes
from lab.simulation.wire import ServerEnd

COMMAND = "KVS_SEED={} python -m pytest lab/faults/test_simulation.py -k any_seed"


def simulate(seed: int) -> Region:
    return running.simulate(functools.partial(Region, seed), seed)


simulate_all = functools.partial(running.simulate_all, simulate, COMMAND)


def assert_all_is_right(seeds: Sequence[int], summaries: Sequence[Summary]) -> None:
    happened, statuses = assert_nothing_is_wrong(seeds, summaries)
    if len(seeds) > 1:
        assert min(statuses[status] for status in (200, 400, 401, 403, 412, 429, 503, 0)) > 0
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


_execute, _step = RemoteTables.execute, RemoteSteps.step


async def _acknowledge_what_was_given_up(self, table, operation, now_ms):
    try:
        return await _execute(self, table, operation, now_ms)
    except BackendError:
        if not isinstance(operation, PutEntry):
            raise
        return Written(operation.entry.revision)


async def _admit_one_more(self, charges, table, operations, now_ms, **options):
    budgets = tuple(Budget(each.bucket, each.limit + 1) for each in charges.budgets)
    return await _step(self, replace(charges, budgets=budgets), table, operations, now_ms, **options)


async def _charge_a_batch_as_one_request(self, charges, table, operations, now_ms, **options):
    return await _step(self, replace(charges, amount=1), table, operations, now_ms, **options)


async def _remember_for_ever(self, table, operation, now_ms):
    remembered = self.__dict__.setdefault("remembered", {})
    if not isinstance(operation, GetEntry):
        return await _execute(self, table, operation, now_ms)
    if (table, operation) not in remembered:
        remembered[table, operation] = await _execute(self, table, operation, now_ms)
    return remembered[table, operation]


async def _forget_whose_it_is(self, table, operation, now_ms):
    return await _execute(self, replace(table, keyspace="everybody's"), operation, now_ms)


async def _forget_the_storage_limit(self, table, operation, now_ms):
    return await _execute(self, replace(table, max_bytes=None), operation, now_ms)


async def _ignore_conditions(self, table, operation, now_ms):
    if isinstance(operation, PutEntry | DeleteEntry):
        operation = replace(operation, condition=ANY)
    return await _execute(self, table, operation, now_ms)


async def _send_increments_again(self, table, operation, now_ms):
    if not isinstance(operation, AddToEntry):
        return await _execute(self, table, operation, now_ms)
    return await self._network.call(lambda: self._store.execute(table, operation, now_ms), may_repeat=True)


async def _skip_a_key_behind_the_cursor(self, table, operation, now_ms):
    if isinstance(operation, ListEntries) and operation.after:
        operation = replace(operation, after=chr(ord(operation.after) + 1))
    return await _execute(self, table, operation, now_ms)


async def _show_a_page_again(self, table, operation, now_ms):
    if isinstance(operation, ListEntries):
        pages = self.__dict__.setdefault("pages", {})
        if (table, operation) not in pages:
            pages[table, operation] = await _execute(self, table, operation, now_ms)
        return pages[table, operation]
    return await _execute(self, table, operation, now_ms)


def _repeat_a_revision(self):
    return Revision("the-same-for-all------")


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
    "a put that was given up is acknowledged": (RemoteTables, "execute", _acknowledge_what_was_given_up),
    "a window admits one more": (RemoteSteps, "step", _admit_one_more),
    "a batch is charged as one request": (RemoteSteps, "step", _charge_a_batch_as_one_request),
    "a replica remembers what it read": (RemoteTables, "execute", _remember_for_ever),
    "tables are not kept apart": (RemoteTables, "execute", _forget_whose_it_is),
    "the storage limit is forgotten": (RemoteTables, "execute", _forget_the_storage_limit),
    "conditions are ignored": (RemoteTables, "execute", _ignore_conditions),
    "an increment without an answer is sent again": (RemoteTables, "execute", _send_increments_again),
    "a page begins a key late": (RemoteTables, "execute", _skip_a_key_behind_the_cursor),
    "a replica remembers a page": (RemoteTables, "execute", _show_a_page_again),
    "revisions repeat": (Revisions, "next", _repeat_a_revision),
    "refusals are not metered": (MeteredCall, "close", _count_successes_alone),
    "a drain closes connections at once": (Listener, "stop_listening", _close_at_once),
    "replicas whose clocks are apart believe them": (StoreTime, "now_ms", _believe_its_own_clock),
    "every answer is sent twice": (ServerEnd, "write", _answer_twice),
}


@pytest.mark.parametrize(("where", "what", "broken"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_promise_is_noticed(monkeypatch, where, what, broken):
    monkeypatch.setattr(where, what, broken)
    assert first_wrong(simulate_all, range(100)) != []
