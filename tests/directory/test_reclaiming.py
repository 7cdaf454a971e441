"""A deleted table is unreachable immediately, and its space is given back despite crashes."""

from contextlib import suppress

import pytest

from backends.errors import BackendUnavailable
from backends.tables import Table
from gateway.directory.errors import TableNotFound
from tests.directory.region import LAST_WRITE_MS, SHOP, Crash, Region, Replica

HOUR_MS = 3_600_000
RETRY_MS = 60_000


async def _fill(region: Region, table: Table, entries: int = 20) -> None:
    for number in range(entries):
        await region.put(table, f"key {number}")


async def _table_with_entries(region: Region, replica: Replica, name: str = "sessions") -> Table:
    table = await replica.table(await replica.create(name))
    await _fill(region, table)
    return table


def _used(region: Region) -> int:
    return region.used_bytes


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
    new = await replica.table(await replica.create())
    assert new != old
    await _fill(region, new, entries=1)
    await replica.reclaimer.run()
    assert await region.has(new, "key 0")
    assert not await region.has(old, "key 0")


async def test_a_table_is_purged_immediately_and_again_after_the_last_possible_write(region, replica):
    await _table_with_entries(region, replica)
    await replica.directory.delete_table(SHOP, "sessions")
    for _ in range(5):
        await replica.reclaimer.run()
    assert region.faults.count("drop") == 1
    region.clock.advance(LAST_WRITE_MS)
    for _ in range(5):
        await replica.reclaimer.run()
    assert region.faults.count("drop") == 2


async def test_a_purge_that_fails_is_repeated(region, replica):
    await _table_with_entries(region, replica)
    region.faults.fail = {"drop"}
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    assert _used(region) > 0
    region.faults.fail.clear()
    region.clock.advance(RETRY_MS)
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
    assert region.faults.count("drop") == 0


async def _settle(region: Region) -> None:
    """Runs the background work of the next hours."""
    replica = region.replica()
    for _ in range(5):
        await replica.reclaimer.run()
        region.clock.advance(2 * HOUR_MS)


@pytest.mark.parametrize("steps", range(12))
async def test_wherever_a_deletion_crashes_the_table_is_whole_or_gone(region, replica, steps):
    token = await replica.create()
    table = await replica.table(token)
    await _fill(region, table)
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
    table = await _table_with_entries(region, replica)
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
    await _fill(region, table, entries=1)
    await replica.reclaimer.run()
    region.clock.advance(LAST_WRITE_MS)
    await replica.reclaimer.run()
    assert _used(region) == 0
