"""One replica sweeps the tables of all apps: expired entries leave; apps with a limit are counted."""

import pytest

from backends.errors import BackendUnavailable
from gateway.directory.reclaim.sweeper import PERIOD_MS, SWEEPING_LEASE_MS, StorageUse
from gateway.directory.records import SWEEPING, AppRecord, TableRecord, app_name
from gateway.domain.model import Environment
from tests.directory.region import SHOP, Region, Replica

BLOG = Environment("acme", "blog", "production")
LOOK_MS = SWEEPING_LEASE_MS // 3
MINUTE_MS = 60_000


async def _sweep(*replicas: Replica) -> None:
    """Looks as often as a replica needs from its start to the end of its first sweep."""
    for _ in range(2):
        for replica in replicas:
            await replica.sweeper.run()


async def _app(replica: Replica, environment: Environment, max_bytes: int | None = None):
    """Registers an app with a table, and returns the table."""
    await replica.register(environment, max_bytes=max_bytes)
    return await replica.table(await replica.create("t", environment))


async def test_a_replica_that_starts_reads_the_lease_and_nothing_else(region, replica):
    region.faults.calls.clear()
    await replica.sweeper.run()
    assert region.faults.calls == [("read", SWEEPING)]


async def test_expired_entries_of_a_table_that_nobody_calls_leave_the_store(region, replica):
    table = await _app(replica, BLOG)
    await region.put(table, "expires", expires_at_ms=region.clock.wall_ms() + MINUTE_MS)
    await region.put(table, "stays")
    kept = region.used_bytes
    region.clock.advance(MINUTE_MS)
    await _sweep(replica)
    assert region.used_bytes < kept
    assert await region.has(table, "stays")


async def test_one_of_several_replicas_sweeps(region, replica, other):
    await _app(replica, BLOG)
    await _sweep(replica, other, region.replica())
    assert region.faults.count("tidy") == 1


async def test_a_sweep_is_due_three_quarters_of_an_hour_after_the_begin_of_the_last(region, replica):
    await _app(replica, BLOG)
    await _sweep(replica)
    for _ in range(PERIOD_MS // LOOK_MS - 1):
        region.clock.advance(LOOK_MS)
        await replica.sweeper.run()
    assert region.faults.count("tidy") == 1
    region.clock.advance(LOOK_MS)
    await replica.sweeper.run()
    assert region.faults.count("tidy") == 2


async def test_another_replica_sweeps_anew_once_the_lease_has_ended(region, replica, other):
    await _app(replica, BLOG, max_bytes=1000)
    await _sweep(replica, other)
    assert (list(replica.sweeper.used), list(other.sweeper.used)) == ([BLOG], [])
    region.clock.advance(SWEEPING_LEASE_MS - 1)
    await other.sweeper.run()
    assert region.faults.count("tidy") == 1
    region.clock.advance(1)
    await other.sweeper.run()
    await replica.sweeper.run()
    assert region.faults.count("tidy") == 2
    assert (list(replica.sweeper.used), list(other.sweeper.used)) == ([], [BLOG])


async def test_the_use_of_apps_with_a_limit_is_counted(region, replica):
    table = await _app(replica, BLOG, max_bytes=1000)
    await region.put(table, "key")
    await region.put(await _app(replica, SHOP))
    await _sweep(replica)
    assert replica.sweeper.used == {BLOG: StorageUse(entries=1, bytes=4, max_bytes=1000)}


@pytest.mark.parametrize("change", ["removed", "without a limit", "without tables"])
async def test_an_app_that_is_gone_or_lost_its_limit_is_not_counted_any_more(region, replica, change):
    await _app(replica, BLOG, max_bytes=1000)
    await _sweep(replica)
    match change:
        case "removed":
            await replica.directory.remove(BLOG)
        case "without tables":
            await replica.directory.delete_table(BLOG, "t")
        case _:
            await replica.register(BLOG)
    region.clock.advance(PERIOD_MS)
    await replica.sweeper.run()
    assert replica.sweeper.used == {}


async def test_declared_apps_are_swept_with_the_configured_limit(region):
    table = TableRecord(id="decl_1", name="t", token_sha256="00" * 32)
    declared = AppRecord(BLOG, "api", active=True, tables=(table,))
    replica = region.replica(declared=[declared], default_max_bytes=5000)
    await _sweep(replica)
    assert replica.sweeper.used == {BLOG: StorageUse(entries=0, bytes=0, max_bytes=5000)}


async def test_a_corrupt_record_delays_no_other(region, replica):
    await _app(replica, SHOP, max_bytes=1000)
    await region.memory.records.swap(app_name(BLOG), b"{", None)
    await _sweep(replica)
    assert list(replica.sweeper.used) == [SHOP]


def _fail_for(region: Region, home: str) -> None:
    tidy = region.backend.tables.tidy

    async def fail(tables, now_ms) -> None:
        if tables[0].home.startswith(home):
            raise BackendUnavailable("a part of the store is down")
        await tidy(tables, now_ms)

    region.backend.tables.tidy = fail


async def test_a_part_of_the_store_that_is_down_delays_only_its_own_apps(region, replica):
    for environment in (BLOG, SHOP):
        await _app(replica, environment, max_bytes=1000)
    _fail_for(region, str(BLOG))
    await _sweep(replica)
    assert list(replica.sweeper.used) == [SHOP]


async def test_a_sweep_ends_while_the_store_is_down_and_begins_anew_at_the_next_look(region, replica, caplog):
    for number in range(20):
        await _app(replica, Environment("acme", f"app-{number}", "production"), max_bytes=1000)
    region.faults.fail = {"tidy"}
    await _sweep(replica)
    assert region.faults.count("tidy") == 10
    assert "sweeping waits for the store" in caplog.messages
    region.faults.fail.clear()
    region.clock.advance(LOOK_MS)
    await replica.sweeper.run()
    assert len(replica.sweeper.used) == 20
