"""No intent makes the reclaimer purge a table that is alive; intents of version 0.2.0 are carried out."""

import pytest

from backends.tables import Table
from gateway.directory.reclaim.lease import LEASE_MS
from gateway.directory.records import LEASE, ReclaimRecord, encode, reclaim_name
from gateway.domain.model import Environment
from tests.directory.region import LAST_WRITE_MS, SHOP, Region, Replica

BLOG = Environment("acme", "blog", "production")
HOUR_MS = 3_600_000
SEAL = "0123456789abcdef"


@pytest.fixture
async def table(region, replica) -> Table:
    """A table that is alive and has an entry."""
    await replica.register(BLOG)
    table = await replica.table(await replica.create("posts", BLOG))
    await region.put(table)
    return table


async def _write(region: Region, name: str, document: bytes) -> None:
    record = await region.memory.records.read(name)
    assert await region.memory.records.swap(name, document, None if record is None else record.version)


async def _reclaim_all(region: Region, replica: Replica) -> None:
    for _ in range(6):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)


async def _is_whole(region: Region, table) -> bool:
    return await region.has(table)


@pytest.mark.parametrize("environment", [None, BLOG], ids=str)
@pytest.mark.parametrize("waited", [{}, {"is_purged": True, "waited_ms": 10 * HOUR_MS}], ids=str)
async def test_intent_of_a_table_that_its_app_still_has_purges_nothing(
    region, replica, table, environment, waited
):
    await _write(region, reclaim_name(table.keyspace), encode(ReclaimRecord(environment, **waited)))
    await _reclaim_all(region, replica)
    assert await _is_whole(region, table)


@pytest.mark.parametrize("document", [b"", b"{", b"{}", b'{"environment": 1}'], ids=repr)
async def test_intent_that_cannot_be_decoded_purges_nothing_and_delays_no_other(
    region, replica, table, caplog, document
):
    gone = await replica.table(await replica.create())
    await region.put(gone)
    await replica.directory.delete_table(SHOP, "sessions")
    await _write(region, reclaim_name(table.keyspace), document)
    await _reclaim_all(region, replica)
    assert await _is_whole(region, table)
    assert not await _is_whole(region, gone)
    assert await region.record_names("reclaim/") == [reclaim_name(table.keyspace)]
    assert reclaim_name(table.keyspace) in [record.fields.get("record") for record in caplog.records]


async def test_table_is_reclaimed_although_an_earlier_intent_of_it_was_dropped(region, replica, table):
    await _write(region, reclaim_name(table.keyspace), encode(ReclaimRecord(BLOG)))
    for _ in range(3):
        await replica.reclaimer.run()
        region.clock.advance(HOUR_MS)
    await replica.reclaimer.run()
    assert await region.record_names("reclaim/") == []
    await replica.directory.remove(BLOG)
    await _reclaim_all(region, replica)
    assert not await _is_whole(region, table)


NOT_MANAGED = ["decl_" + "0" * 32, "else", "\udcff", "", "tbl_", "x/y"]


@pytest.mark.parametrize("name", [f"reclaim/{table_id}" for table_id in NOT_MANAGED])
@pytest.mark.parametrize(
    "document",
    [b"{", encode(ReclaimRecord(None)), encode(ReclaimRecord(SHOP, is_purged=True))],
    ids=["corrupt", "without app", "purged once"],
)
async def test_only_managed_tables_are_purged(region, replica, name, document):
    keyspace = name.removeprefix("reclaim/") or "decl_"
    await region.put(keyspace)
    await _write(region, name, document)
    await _reclaim_all(region, replica)
    assert await _is_whole(region, keyspace)


@pytest.mark.parametrize("environment", [None, SHOP], ids=str)
@pytest.mark.parametrize("seal", [{"seal": SEAL}, {}], ids=["sealed", "unsealed"])
async def test_intents_of_version_0_2_0_are_carried_out(region, replica, environment, seal):
    keyspace = f"tbl_{1:032x}"
    await region.put(keyspace)
    intent = {"environment": environment, "is_purged": False, "waited_ms": 0, **seal}
    await _write(region, reclaim_name(keyspace), encode(intent))
    await _reclaim_all(region, replica)
    assert not await _is_whole(region, keyspace)
    assert await region.record_names("reclaim/") == []


async def test_lease_of_version_0_2_0_is_taken_over_with_its_run_in_it(region, replica):
    keyspace = f"tbl_{1:032x}"
    name = reclaim_name(keyspace)
    await _write(region, name, encode({"environment": SHOP, "is_purged": False, "seal": SEAL}))
    version = (await region.memory.records.read(name)).version
    run = {"intents": {name: version}, "cursor": None}
    await _write(region, LEASE, encode({"holder": "somebody", "turn": 1, "walk": run}))
    await replica.reclaimer.run()
    region.clock.advance(LEASE_MS)
    await replica.reclaimer.run()
    assert region.faults.count("drop") == 1
    assert len(replica.corrupt) == 0
