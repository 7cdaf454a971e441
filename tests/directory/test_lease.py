"""One replica at a time reclaims, many tables in one call; after a crash another replica takes over."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from backends.errors import BackendUnavailable
from backends.tables import Table
from gateway.directory.reclaim import reclaimer
from gateway.directory.reclaim.lease import LEASE_MS, RENEWALS
from gateway.directory.records import LEASE, ReclaimRecord, encode, reclaim_name
from gateway.domain.model import Environment
from tests.directory.region import LAST_WRITE_MS, SHOP, Crash, Region, Replica

HOUR_SECONDS = 3600
RETRY_MS = 60_000


class Drops:
    """The drops of a region: they wait at `gate`, crash once if `crashes`, and fail for tables `down`."""

    def __init__(self, region: Region) -> None:
        self.calls: list[int] = []
        """Numbers of tables."""
        self.down: set[Table] = set()
        self.crashes = False
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self._store = region.memory.tables
        region.backend.tables.drop = self._drop

    async def _drop(self, tables: Sequence[Table]) -> None:
        self.calls.append(len(tables))
        self.begun.set()
        await self.gate.wait()
        if self.crashes:
            self.crashes = False
            raise Crash
        if self.down.intersection(tables):
            raise BackendUnavailable("a part of the store is down")
        await self._store.drop(tables)


@pytest.fixture
def drops(region) -> Drops:
    return Drops(region)


@pytest.fixture
def few_at_once(monkeypatch) -> int:
    """The number of tables in a call, smaller than in production."""
    monkeypatch.setattr(reclaimer, "TABLES_AT_ONCE", 20)
    return 20


async def _delete_tables(
    region: Region, replica: Replica, count: int, entries: int = 3, name: str = "app"
) -> list[Table]:
    """Deletes tables with entries in them, and returns them."""
    tables = []
    for number in range(count):
        environment = Environment("acme", f"{name}-{number}", "production")
        await replica.register(environment)
        tables.append(await replica.table(await replica.create("t", environment)))
        for key in range(entries):
            await region.put(tables[-1], f"key {key}")
        await replica.directory.remove(environment)
    return tables


async def _finish(region: Region, replica: Replica) -> None:
    """Makes rounds on one replica until it has nothing left to do."""
    for _ in range(4):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)
    await replica.reclaimer.run()


async def _nothing_is_left(region: Region) -> bool:
    names = [*await region.record_names("reclaim/"), *await region.record_names("lease/")]
    return region.used_bytes == 0 and names == []


async def test_many_tables_are_dropped_in_one_call(region, replica):
    await _delete_tables(region, replica, 60)
    region.faults.calls.clear()
    await replica.reclaimer.run()
    assert region.used_bytes == 0
    assert region.faults.count("drop") == 1
    assert replica.reclaimer.dropped == 60


async def test_tables_deleted_during_a_drop_join_the_next(region, replica, drops):
    await _delete_tables(region, replica, 2)
    drops.gate.clear()
    running = asyncio.create_task(replica.reclaimer.run())
    await drops.begun.wait()
    await _delete_tables(region, replica, 1)
    drops.gate.set()
    await running
    assert drops.calls == [2, 1]


async def test_tables_beyond_the_bound_of_a_call_are_dropped_by_the_next(region, replica, drops, few_at_once):
    for number in range(few_at_once + 7):
        name = reclaim_name(f"t2_{number:032x}")
        assert await region.memory.records.swap(name, encode(ReclaimRecord(SHOP)), None)
    await replica.reclaimer.run()
    assert drops.calls == [few_at_once, 7]


async def test_while_one_replica_reclaims_the_others_read_only_the_lease(region, replica, other, drops):
    await _delete_tables(region, replica, 1)
    await replica.reclaimer.run()
    region.faults.calls.clear()
    await other.reclaimer.run()
    assert region.faults.calls == [("read", LEASE)]
    assert other.reclaimer.pending == 0
    assert drops.calls == [1]


async def test_one_of_many_replicas_that_start_together_reclaims(region, replica, drops):
    await _delete_tables(region, replica, 5)
    rivals = [region.replica(seed=number) for number in range(8)]
    await asyncio.gather(*(rival.reclaimer.run() for rival in rivals))
    assert drops.calls == [5]


async def _pass_time(region: Region) -> None:
    """Lets a little more pass than the time between two renewals."""
    await asyncio.sleep(LEASE_MS / 1000 / RENEWALS + 1)
    region.clock.advance(LEASE_MS // RENEWALS + 1000)


@pytest.mark.virtual_time
async def test_a_replica_keeps_the_lease_however_long_a_drop_takes(region, replica, other, drops):
    await _delete_tables(region, replica, 1)
    drops.gate.clear()
    running = asyncio.create_task(replica.reclaimer.run())
    for _ in range(30):
        await _pass_time(region)
        await other.reclaimer.run()
    drops.gate.set()
    await running
    assert drops.calls == [1]


async def test_another_replica_takes_over_after_a_crash(region, replica, other, drops):
    await _delete_tables(region, replica, 2)
    drops.crashes = True
    with pytest.raises(Crash):
        await replica.reclaimer.run()
    await other.reclaimer.run()
    assert drops.calls == [2]
    region.clock.advance(LEASE_MS)
    await other.reclaimer.run()
    assert drops.calls == [2, 2]
    assert region.used_bytes == 0


@pytest.mark.parametrize("steps", range(40))
async def test_wherever_reclaiming_crashes_another_replica_completes_it(region, replica, steps):
    await _delete_tables(region, replica, 3)
    crashing = region.replica(steps_to_crash=steps)
    with suppress(Crash):
        await _finish(region, crashing)
    survivor = region.replica()
    await survivor.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await _finish(region, survivor)
    assert await _nothing_is_left(region)


@pytest.mark.virtual_time
async def test_two_replicas_that_both_believe_to_hold_the_lease_do_no_harm(region, replica, other, drops):
    kept = await replica.table(await replica.create("kept"))
    await region.put(kept)
    used = region.used_bytes
    await _delete_tables(region, replica, 3)
    drops.gate.clear()
    cut_off = asyncio.create_task(replica.reclaimer.run())
    await drops.begun.wait()
    replica.records.is_cut_off = True
    await other.reclaimer.run()
    region.clock.advance(LEASE_MS)
    second = asyncio.create_task(other.reclaimer.run())
    while len(drops.calls) < 2:
        await _pass_time(region)
    replica.records.is_cut_off = False
    drops.gate.set()
    await asyncio.gather(cut_off, second)
    await replica.reclaimer.run()
    await _finish(region, other)
    assert region.used_bytes == used
    assert await region.record_names("reclaim/") == []


@pytest.mark.virtual_time
async def test_a_replica_that_lost_the_lease_ends_its_drop(region, replica, other, drops):
    await _delete_tables(region, replica, 1)
    drops.gate.clear()
    running = asyncio.create_task(replica.reclaimer.run())
    await drops.begun.wait()
    await region.memory.records.swap(LEASE, b"{", (await region.memory.records.read(LEASE)).version)
    await running
    assert region.used_bytes > 0
    assert replica.reclaimer.pause_seconds == LEASE_MS / 1000
    drops.gate.set()
    await other.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await other.reclaimer.run()
    assert region.used_bytes == 0


async def test_a_table_that_cannot_be_dropped_is_tried_again_after_a_minute(region, replica, drops):
    (table,) = await _delete_tables(region, replica, 1)
    drops.down = {table}
    for _ in range(3):
        await replica.reclaimer.run()
    assert drops.calls == [1]
    drops.down.clear()
    region.clock.advance(RETRY_MS)
    await replica.reclaimer.run()
    assert region.used_bytes == 0


async def test_a_part_of_the_store_that_is_down_delays_only_its_own_tables(region, replica, drops):
    first, *_ = await _delete_tables(region, replica, 3)
    drops.down = {first}
    await replica.reclaimer.run()
    assert drops.calls == [3, 1, 1, 1]
    later = await _delete_tables(region, replica, 2, name="later")
    await replica.reclaimer.run()
    assert drops.calls[4:] == [2]
    assert [await region.has(table, "key 0") for table in (first, *later)] == [True, False, False]
    drops.down.clear()
    region.clock.advance(RETRY_MS)
    await _finish(region, replica)
    assert await _nothing_is_left(region)


async def test_an_intent_rewritten_during_a_drop_does_not_count_as_purged(region, replica, drops):
    (table,) = await _delete_tables(region, replica, 1)
    drops.gate.clear()
    running = asyncio.create_task(replica.reclaimer.run())
    await drops.begun.wait()
    name = reclaim_name(table.keyspace)
    version = (await region.memory.records.read(name)).version
    await region.memory.records.swap(name, encode(ReclaimRecord(SHOP)), version)
    drops.gate.set()
    await running
    assert drops.calls == [1, 1]


async def test_at_rest_nothing_is_read_for_an_hour(region, replica):
    await _delete_tables(region, replica, 1)
    await _finish(region, replica)
    assert await _nothing_is_left(region)
    assert replica.reclaimer.pause_seconds == HOUR_SECONDS
    assert replica.reclaimer.pending == 0


async def test_the_feed_announces_a_deleted_table_to_every_replica(region, replica, other):
    woken = []
    await other.feed.follow()
    other.feed.wake_on_intent(lambda: woken.append(1))
    await replica.create()
    await other.feed.follow()
    assert woken == []
    await replica.directory.delete_table(SHOP, "sessions")
    await other.feed.follow()
    assert woken == [1]
