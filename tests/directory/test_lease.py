"""One replica at a time reclaims, in one run for all tables; after a crash another replica continues."""

import asyncio
from contextlib import suppress

import pytest

from backends.errors import BackendUnavailable
from backends.interface import Entry, Keyspace, PurgeStep
from gateway.directory.reclaim import reclaimer
from gateway.directory.reclaim.lease import LEASE_MS, RENEWED_AFTER_MS
from gateway.directory.reclaim.reclaimer import COMMANDS_PER_SECOND
from gateway.directory.records import ReclaimRecord, encode, reclaim_name
from gateway.domain.model import Environment
from tests.directory.region import LAST_WRITE_MS, SHOP, Crash, Region, Replica

HOUR_SECONDS = 3600


class ScriptedRun:
    """A store in which a purge run has `steps` steps of `step_ms`; it logs the calls in `asked`."""

    def __init__(self, region: Region, *, steps: int, step_ms: int = 0) -> None:
        self.asked: list[tuple[int, str | None]] = []
        self.crash_at: int | None = None
        self.stalled_at: int | None = None
        self.tables: set[Keyspace] = set()
        self.begun = asyncio.Event()
        self._region, self._steps, self._step_ms = region, steps, step_ms
        region.backend.entries.purge = self._purge

    async def _purge(self, keyspaces, cursor) -> PurgeStep:
        at = int(cursor or 0)
        if at == self.crash_at:
            self.crash_at = None
            raise Crash
        if at == self.stalled_at:
            raise BackendUnavailable("one of the masters does not answer")
        self.asked.append((len(keyspaces), cursor))
        self.tables.update(keyspaces)
        self.begun.set()
        self._region.clock.advance(self._step_ms)
        return PurgeStep(str(at + 1) if at + 1 < self._steps else None, 500, 0, 2)


@pytest.fixture
def few_per_run(monkeypatch) -> int:
    """The number of tables in a run, smaller than in production."""
    monkeypatch.setattr(reclaimer, "TABLES_PER_RUN", 20)
    return 20


async def _delete_tables(region: Region, replica: Replica, count: int, entries: int = 3) -> list[Keyspace]:
    """Deletes tables with entries in them, and returns their keyspaces."""
    keyspaces = []
    for number in range(count):
        environment = Environment("acme", f"app-{number}", "production")
        await replica.register(environment)
        keyspaces.append(await replica.keyspace(await replica.create("t", environment)))
        for key in range(entries):
            await region.memory.entries.put(keyspaces[-1], f"key {key}", Entry(b"1", None))
        await replica.directory.remove(environment)
    return keyspaces


async def _finish(region: Region, replica: Replica) -> None:
    """Makes rounds on one replica until it has nothing left to do."""
    for _ in range(4):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)
    await replica.reclaimer.run()


async def _nothing_is_left(region: Region) -> bool:
    names = [*await region.record_names("reclaim/"), *await region.record_names("lease/")]
    return region.memory.entries.used_bytes == 0 and names == []


async def test_many_tables_are_purged_in_one_run(region, replica):
    await _delete_tables(region, replica, 60)
    region.faults.calls.clear()
    await replica.reclaimer.run()
    assert region.memory.entries.used_bytes == 0
    assert region.faults.count("purge") == 1


async def test_tables_deleted_during_a_run_join_the_next_run(region, replica):
    run = ScriptedRun(region, steps=3)
    await _delete_tables(region, replica, 2)
    running = asyncio.create_task(replica.reclaimer.run())
    await run.begun.wait()
    await _delete_tables(region, replica, 1)
    await running
    assert run.asked == [(2, None), (2, "1"), (2, "2"), (1, None), (1, "1"), (1, "2")]


async def test_more_tables_than_a_lease_can_name_take_several_runs(region, replica, few_per_run):
    run = ScriptedRun(region, steps=1)
    for number in range(few_per_run + 7):
        name = reclaim_name(f"tbl_{number:032x}")
        assert await region.memory.records.swap(name, encode(ReclaimRecord(SHOP)), None)
    await replica.reclaimer.run()
    assert [tables for tables, _ in run.asked] == [few_per_run, 7]


async def test_while_one_replica_reclaims_the_others_read_only_the_lease(region, replica, other):
    run = ScriptedRun(region, steps=3)
    await _delete_tables(region, replica, 1)
    await replica.reclaimer.run()
    region.faults.calls.clear()
    await other.reclaimer.run()
    assert region.faults.calls == [("read", "lease/reclaiming")]
    assert other.reclaimer.pending == 0
    assert len(run.asked) == 3


async def test_one_of_many_replicas_that_start_together_reclaims(region, replica):
    run = ScriptedRun(region, steps=3)
    await _delete_tables(region, replica, 5)
    rivals = [region.replica(seed=number) for number in range(8)]
    await asyncio.gather(*(rival.reclaimer.run() for rival in rivals))
    assert len(run.asked) == 3


async def test_a_replica_that_renews_keeps_the_lease_however_long_its_run_is(region, replica, other):
    run = ScriptedRun(region, steps=40, step_ms=RENEWED_AFTER_MS // 2)
    await _delete_tables(region, replica, 1)
    running = asyncio.create_task(replica.reclaimer.run())
    while not running.done():
        await other.reclaimer.run()
        await asyncio.sleep(0)
    assert len(run.asked) == 40


async def test_another_replica_continues_a_run_after_a_crash(region, replica, other):
    run = ScriptedRun(region, steps=10, step_ms=RENEWED_AFTER_MS)
    await _delete_tables(region, replica, 2)
    run.crash_at = 6
    with pytest.raises(Crash):
        await replica.reclaimer.run()
    await other.reclaimer.run()
    assert len(run.asked) == 6
    region.clock.advance(LEASE_MS)
    await other.reclaimer.run()
    cursors = [cursor for _, cursor in run.asked]
    assert cursors == [None, *"12345", *"6789"]
    await other.reclaimer.run()
    assert len(run.asked) == 10


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


async def test_two_replicas_that_both_believe_to_hold_the_lease_do_no_harm(region, replica, other):
    kept = await replica.keyspace(await replica.create("kept"))
    await region.memory.entries.put(kept, "k", Entry(b"1", None))
    used = region.memory.entries.used_bytes
    await _delete_tables(region, replica, 3, entries=700)
    region.faults.gate.clear()
    stopped = asyncio.create_task(replica.reclaimer.run())
    while not region.faults.count("read"):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)
    region.faults.gate.set()
    while not region.faults.count("purge"):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)
    region.faults.gate.clear()
    while region.faults.count("purge") < 2:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.001)
    region.faults.gate.set()
    await other.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await asyncio.gather(stopped, other.reclaimer.run())
    await replica.reclaimer.run()
    await _finish(region, other)
    assert region.memory.entries.used_bytes == used
    assert await region.record_names("reclaim/") == []


async def test_a_replica_that_lost_the_lease_ends_its_run(region, replica, other):
    run = ScriptedRun(region, steps=9, step_ms=RENEWED_AFTER_MS)
    await _delete_tables(region, replica, 1)
    running = asyncio.create_task(replica.reclaimer.run())
    await run.begun.wait()
    await region.memory.records.swap(
        "lease/reclaiming", b"{", (await region.memory.records.read("lease/reclaiming")).version
    )
    await running
    assert len(run.asked) < 3
    await other.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await other.reclaimer.run()
    assert len(run.asked) >= 9


async def test_a_run_that_failed_continues_in_the_next_round(region, replica):
    await _delete_tables(region, replica, 2)
    region.faults.fail = {"purge"}
    await replica.reclaimer.run()
    assert region.memory.entries.used_bytes > 0
    region.faults.fail.clear()
    await replica.reclaimer.run()
    assert region.memory.entries.used_bytes == 0


async def test_tables_deleted_while_a_run_is_stalled_are_purged_where_the_store_answers(region, replica):
    run = ScriptedRun(region, steps=3)
    run.stalled_at = 2
    first = await _delete_tables(region, replica, 2)
    await replica.reclaimer.run()
    await replica.reclaimer.run()
    assert run.asked == [(2, None), (2, "1")], "purged masters are not purged again"
    blog = Environment("acme", "blog", "production")
    await replica.register(blog)
    await replica.create("t", blog)
    await replica.directory.remove(blog)
    await replica.reclaimer.run()
    assert run.asked[2:] == [(3, None), (3, "1")]
    assert len(await region.record_names("reclaim/")) == len(first) + 1
    run.stalled_at = None
    await replica.reclaimer.run()
    assert run.asked[4:] == [(3, "2")]
    await _finish(region, replica)
    assert await region.record_names("reclaim/") == []


async def test_all_tables_have_their_turn_while_runs_are_stalled(region, replica, few_per_run):
    run = ScriptedRun(region, steps=2)
    run.stalled_at = 1
    for number in range(few_per_run + 7):
        name = reclaim_name(f"tbl_{number:032x}")
        assert await region.memory.records.swap(name, encode(ReclaimRecord(SHOP)), None)
    await replica.reclaimer.run()
    assert [tables for tables, _ in run.asked] == [few_per_run, few_per_run]
    assert len(run.tables) == few_per_run + 7


async def test_an_intent_rewritten_during_a_run_does_not_count_as_purged(region, replica):
    run = ScriptedRun(region, steps=3)
    (keyspace,) = await _delete_tables(region, replica, 1)
    running = asyncio.create_task(replica.reclaimer.run())
    await run.begun.wait()
    name = reclaim_name(keyspace)
    version = (await region.memory.records.read(name)).version
    await region.memory.records.swap(name, encode(ReclaimRecord(SHOP)), version)
    await running
    assert len(run.asked) == 6


@pytest.mark.virtual_time
async def test_a_purge_run_sends_at_most_its_commands_per_second(region, replica):
    await _delete_tables(region, replica, 2, entries=4000)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await replica.reclaimer.run()
    assert replica.reclaimer.deleted == 8000
    assert loop.time() - began >= 8000 / COMMANDS_PER_SECOND


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
