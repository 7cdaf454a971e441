"""No intent makes the reclaimer purge a table that is alive, whoever wrote it and whatever it says."""

import pytest

from backends.errors import BackendUnavailable
from backends.interface import Entry
from gateway.directory.reclaim.lease import LEASE_MS
from gateway.directory.records import (
    LEASE,
    LeaseRecord,
    ReclaimRecord,
    Walk,
    decode,
    encode,
    reclaim_name,
    sealed,
)
from gateway.domain.model import Environment
from tests.directory.region import LAST_WRITE_MS, SHOP, Region, Replica

BLOG = Environment("acme", "blog", "production")
NOBODY = Environment("acme", "nobody", "production")
HOUR_MS = 3_600_000


@pytest.fixture
async def keyspace(region, replica):
    """Of a table that is alive and has an entry."""
    await replica.register(BLOG)
    keyspace = await replica.keyspace(await replica.create("posts", BLOG))
    await region.memory.entries.put(keyspace, "k", Entry(b"1", None))
    return keyspace


async def _write(region: Region, name: str, document: bytes) -> None:
    record = await region.memory.records.read(name)
    assert await region.memory.records.swap(name, document, None if record is None else record.version)


async def _reclaim_all(region: Region, replica: Replica) -> None:
    for _ in range(6):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)


async def _is_whole(region: Region, keyspace) -> bool:
    return await region.memory.entries.get(keyspace, "k") is not None


@pytest.mark.parametrize("environment", [None, SHOP, NOBODY], ids=str)
@pytest.mark.parametrize("seal", [None, "", "0" * 16])
async def test_an_intent_that_names_another_app_purges_no_table_that_is_alive(
    region, replica, keyspace, environment, seal
):
    forged = ReclaimRecord(environment, seal=seal)
    await _write(region, reclaim_name(keyspace), encode(forged))
    await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)


async def test_an_intent_that_says_it_has_waited_long_enough_purges_no_table_that_is_alive(
    region, replica, keyspace
):
    forged = ReclaimRecord(SHOP, is_purged=True, waited_ms=10 * HOUR_MS)
    await _write(region, reclaim_name(keyspace), encode(forged))
    await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)


async def test_an_intent_that_was_copied_under_the_name_of_another_table_is_corrupt(
    region, replica, keyspace, caplog
):
    gone = await replica.keyspace(await replica.create())
    await replica.directory.delete_table(SHOP, "sessions")
    intent = (await region.memory.records.read(reclaim_name(gone))).document
    await _write(region, reclaim_name(keyspace), intent)
    await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)
    assert reclaim_name(keyspace) in [record.fields.get("record") for record in caplog.records]


async def test_a_table_whose_forged_intent_was_dropped_is_reclaimed_when_it_is_deleted(
    region, replica, keyspace
):
    await _write(region, reclaim_name(keyspace), encode(ReclaimRecord(SHOP)))
    for _ in range(3):
        await replica.reclaimer.run()
        region.clock.advance(HOUR_MS)
    await replica.reclaimer.run()
    assert await region.record_names("reclaim/") == []
    await replica.directory.remove(BLOG)
    await _reclaim_all(region, replica)
    assert not await _is_whole(region, keyspace)


@pytest.mark.parametrize("environment", [None, SHOP, BLOG], ids=str)
@pytest.mark.parametrize("is_sealed", [False, True])
async def test_a_walk_in_the_lease_is_not_believed_either(region, replica, keyspace, environment, is_sealed):
    """Its intent is not there, not sealed, or that of a deletion which has not happened."""
    name = reclaim_name(keyspace)
    intent, version = ReclaimRecord(environment), "1"
    if not is_sealed or environment == BLOG:
        await _write(region, name, encode(sealed(name, intent) if is_sealed else intent))
        version = (await region.memory.records.read(name)).version
    await _write(region, LEASE, encode(LeaseRecord("somebody", 1, Walk({name: version}))))
    await replica.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await replica.reclaimer.run()
    await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)


@pytest.mark.parametrize("name", ["reclaim/decl_" + "0" * 32, "reclaim/else", "reclaim/\udcff", "reclaim/"])
async def test_nothing_but_managed_tables_is_purged(region, replica, name):
    keyspace = name.removeprefix("reclaim/") or "decl_"
    await region.memory.entries.put(keyspace, "k", Entry(b"1", None))
    for intent in (ReclaimRecord(None), ReclaimRecord(SHOP, is_purged=True)):
        await _write(region, name, encode(intent))
        await _reclaim_all(region, replica)
        await _write(region, name, encode(sealed(name, intent)))
        await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)


async def test_intents_of_older_versions_are_sealed_in_one_look_at_the_directory(region, replica):
    for number in range(30):
        name = reclaim_name(f"tbl_{number:032x}")
        await _write(region, name, encode({"environment": SHOP, "is_purged": False}))
    region.faults.calls.clear()
    await replica.reclaimer.run()
    assert region.faults.calls.count(("page", "app/")) == 1
    for name in await region.record_names("reclaim/"):
        record = await region.memory.records.read(name)
        assert decode(name, record, ReclaimRecord).is_purged


async def test_sealed_intents_cost_no_look_at_the_directory(region, replica):
    await replica.create()
    await replica.directory.delete_table(SHOP, "sessions")
    region.faults.calls.clear()
    await _reclaim_all(region, replica)
    assert ("page", "app/") not in region.faults.calls
    assert await region.record_names("reclaim/") == []


async def test_while_the_directory_cannot_be_looked_through_sealed_intents_have_their_turn(
    region, replica, keyspace, monkeypatch
):
    await _write(region, reclaim_name(keyspace), encode(ReclaimRecord(NOBODY)))
    gone = await replica.keyspace(await replica.create())
    await region.memory.entries.put(gone, "k", Entry(b"1", None))
    await replica.directory.delete_table(SHOP, "sessions")
    page = replica.records.page

    async def failing(prefix, **options):
        if prefix == "app/":
            raise BackendUnavailable("no answer in time")
        return await page(prefix, **options)

    monkeypatch.setattr(replica.records, "page", failing)
    await replica.reclaimer.run()
    assert not await _is_whole(region, gone)
    assert await _is_whole(region, keyspace)
