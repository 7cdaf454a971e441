"""A deleted table is unreachable immediately, and its space is given back despite crashes."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
from msgspec import structs

from backends.errors import BackendUnavailable
from backends.interface import Entry, Keyspace, NamedRecord, PurgeStep
from gateway.directory.errors import TableNotFound
from gateway.directory.reclaim import reclaimer
from tests.directory.region import LAST_WRITE_MS, SHOP, Crash, Region, Replica

HOUR_MS = 3_600_000
STALLED_MS = 60_000


async def _fill(region: Region, keyspace: Keyspace, entries: int = 20) -> None:
    for number in range(entries):
        await region.memory.entries.put(keyspace, f"key {number}", Entry(b'"value"', None))


async def _table_with_entries(region: Region, replica: Replica, name: str = "sessions") -> Keyspace:
    keyspace = await replica.keyspace(await replica.create(name))
    await _fill(region, keyspace)
    return keyspace


def _used(region: Region) -> int:
    return region.memory.entries.used_bytes


async def test_the_space_of_a_deleted_table_is_given_back(region, replica):
    await _table_with_entries(region, replica)
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    assert _used(region) == 0


async def test_the_space_of_a_removed_app_is_given_back(region, replica):
    for name in ("a", "b", "c"):
        await _table_with_entries(region, replica, name)
    await replica.directory.remove(SHOP)
    await replica.reclaimer.run()
    assert _used(region) == 0


async def test_a_live_table_keeps_its_entries(region, replica):
    await _table_with_entries(region, replica, "kept")
    kept = _used(region)
    await _table_with_entries(region, replica, "doomed")
    await replica.directory.delete_table(SHOP, "doomed")
    await replica.reclaimer.run()
    assert _used(region) == kept


async def test_a_table_created_again_under_the_same_name_is_empty_and_stays(region, replica):
    old = await _table_with_entries(region, replica)
    await replica.directory.delete_table(SHOP, "sessions")
    new = await replica.keyspace(await replica.create())
    assert new != old
    await _fill(region, new, entries=1)
    await replica.reclaimer.run()
    assert await region.memory.entries.get(new, "key 0") is not None
    assert await region.memory.entries.get(old, "key 0") is None


async def test_a_table_is_purged_immediately_and_again_after_the_last_possible_write(region, replica):
    await _table_with_entries(region, replica)
    await replica.directory.delete_table(SHOP, "sessions")
    for _ in range(5):
        await replica.reclaimer.run()
    assert region.faults.count("purge") == 1
    region.clock.advance(LAST_WRITE_MS)
    for _ in range(5):
        await replica.reclaimer.run()
    assert region.faults.count("purge") == 2


async def test_a_purge_that_fails_is_done_in_the_next_round(region, replica):
    await _table_with_entries(region, replica)
    region.faults.fail = {"purge"}
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    assert _used(region) > 0
    region.faults.fail.clear()
    await replica.reclaimer.run()
    assert _used(region) == 0


async def test_reclaiming_ends_after_the_second_purge(region, replica):
    await _table_with_entries(region, replica)
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    await replica.reclaimer.run()
    assert len(await region.record_names("reclaim/")) == 1
    region.clock.advance(LAST_WRITE_MS)
    await replica.reclaimer.run()
    assert await region.record_names("reclaim/") == []
    region.faults.calls.clear()
    await replica.reclaimer.run()
    assert region.faults.count("purge") == 0


async def _settle(region: Region) -> None:
    """Runs the background work of the next hours."""
    replica = region.replica()
    for _ in range(5):
        await replica.reclaimer.run()
        region.clock.advance(2 * HOUR_MS)


@pytest.mark.parametrize("steps", range(12))
async def test_wherever_a_deletion_crashes_the_table_is_whole_or_gone(region, replica, steps):
    token = await replica.create()
    keyspace = await replica.keyspace(token)
    await _fill(region, keyspace)
    crashing = region.replica(steps_to_crash=steps)
    with suppress(Crash):
        await crashing.directory.delete_table(SHOP, "sessions")
    await _settle(region)
    is_there = bool((await replica.directory.find(SHOP)).tables)
    assert await region.replica().knows(token) == is_there
    assert (_used(region) > 0) == is_there


@pytest.mark.parametrize("steps", range(12))
async def test_wherever_a_deletion_crashes_it_can_be_repeated(region, replica, steps):
    await _table_with_entries(region, replica)
    for each in (region.replica(steps_to_crash=steps), region.replica()):
        with suppress(Crash, TableNotFound):
            await each.directory.delete_table(SHOP, "sessions")
    await _settle(region)
    assert _used(region) == 0
    assert await region.record_names("reclaim/") == []


@pytest.mark.parametrize("steps", range(20))
async def test_wherever_a_removal_crashes_the_app_is_whole_or_gone(region, replica, steps):
    for name in ("a", "b"):
        await _table_with_entries(region, replica, name)
    whole = _used(region)
    crashing = region.replica(steps_to_crash=steps)
    with suppress(Crash):
        await crashing.directory.remove(SHOP)
    await _settle(region)
    is_there = await region.record_names("app/") != []
    assert _used(region) == (whole if is_there else 0)


@pytest.mark.parametrize("steps", range(8))
async def test_wherever_a_rotation_crashes_one_token_works(region, replica, steps):
    old = await replica.create()
    crashing = region.replica(steps_to_crash=steps)
    with suppress(Crash):
        await crashing.rotate()
    table = (await region.replica().directory.find(SHOP)).tables[0]
    assert await region.replica().knows(old) == (table.token_last_four == old[-4:])


@pytest.mark.virtual_time
async def test_a_deletion_repeated_long_after_it_failed_still_gives_the_space_back(region, replica):
    keyspace = await _table_with_entries(region, replica)
    region.faults.fail = {"swap"}
    with pytest.raises(BackendUnavailable):
        await replica.directory.delete_table(SHOP, "sessions")
    region.faults.fail.clear()
    crashing = region.replica(steps_to_crash=3)
    with pytest.raises(Crash):
        await crashing.directory.delete_table(SHOP, "sessions")
    region.clock.advance(HOUR_MS // 2)
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    await _fill(region, keyspace, entries=1)
    await replica.reclaimer.run()
    region.clock.advance(LAST_WRITE_MS)
    await replica.reclaimer.run()
    assert _used(region) == 0


class _Shards:
    """The entries of a region, purged in two parts, of which one may be down."""

    def __init__(self, entries) -> None:
        self._entries = entries
        self.is_down = False
        self.walks = 0
        """Purges of the part that is up."""

    async def purge(self, keyspaces, cursor) -> PurgeStep:
        if cursor is None:
            self.walks += 1
            return structs.replace(await self._entries.purge(keyspaces, None), cursor="the part that is down")
        if self.is_down:
            raise BackendUnavailable("the part is down")
        return PurgeStep(None, scanned=0, deleted=0, commands=1)


@pytest.fixture
def shards(region, replica) -> _Shards:
    shards = _Shards(region.memory.entries)
    replica.reclaimer._entries = shards
    return shards


async def test_while_a_part_of_the_store_is_down_late_writes_in_the_others_are_given_back(
    region, replica, shards
):
    keyspace = await _table_with_entries(region, replica)
    shards.is_down = True
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    assert _used(region) == 0
    await _fill(region, keyspace)
    for wait_ms in (STALLED_MS, LAST_WRITE_MS):
        region.clock.advance(wait_ms)
        for _ in range(2):
            await replica.reclaimer.run()
    assert _used(region) == 0
    assert len(await region.record_names("reclaim/")) == 1
    shards.is_down = False
    await replica.reclaimer.run()
    assert await region.record_names("reclaim/") == []


async def test_while_a_part_of_the_store_is_down_no_run_reads_the_others_repeatedly(
    region, replica, shards, monkeypatch
):
    monkeypatch.setattr(reclaimer, "TABLES_PER_RUN", 1)
    for name in ("a", "b", "c"):
        await _table_with_entries(region, replica, name)
        await replica.directory.delete_table(SHOP, name)
    shards.is_down = True
    for _ in range(5):
        await replica.reclaimer.run()
    assert shards.walks == 3
    shards.is_down = False
    await replica.reclaimer.run()
    assert [b'"is_purged":true' in intent.document for _, intent in await _intents(region)] == [True] * 3


async def _intents(region: Region) -> Sequence[NamedRecord]:
    return await region.memory.records.page("reclaim/", after="", limit=10)
