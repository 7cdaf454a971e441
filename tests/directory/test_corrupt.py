"""A corrupt record affects only its own app, is logged by name, and goes when the app is removed."""

import pytest

from backends import MemorySettings
from backends.clock import SystemClock
from backends.interface import Record
from backends.memory.backend import MemoryBackend
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import AppRecord, encode
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Environment
from tests.directory.region import CACHE_TTL_MS, LAST_WRITE_MS, SHOP, Region, Replica

BLOG = Environment("acme", "blog", "production")
NOISE = [b"", b"{", b"\xff\x00", b"[]", b'{"environment": 1}']


@pytest.fixture
async def blog(replica) -> str:
    """Returns the token of a table of another app."""
    await replica.register(BLOG)
    return await replica.create("posts", BLOG)


async def _overwrite(region: Region, name: str, document: bytes) -> None:
    record = await region.memory.records.read(name)
    assert await region.memory.records.swap(name, document, None if record is None else record.version)


async def _damage_keeping_the_end(region: Region, name: str) -> None:
    """Removes the first bytes of a record and keeps those with the tables."""
    await _overwrite(region, name, (await region.memory.records.read(name)).document[10:])


async def _reclaim_all(region: Region, replica: Replica) -> None:
    for _ in range(3):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)


@pytest.mark.parametrize("noise", NOISE, ids=repr)
async def test_a_corrupt_app_hides_no_other_app_from_a_list(region, replica, blog, noise):
    await _overwrite(region, f"app/{SHOP}", noise)
    assert [app.environment for app in await replica.apps()] == [BLOG]


async def test_a_page_is_full_although_corrupt_apps_are_left_out(region, replica):
    for number in range(8):
        await replica.register(Environment("acme", f"app_{number}", "production"))
    for number in (0, 1, 2, 5):
        await _overwrite(region, f"app/acme/app_{number}/production", b"{")
    page = (await replica.pages.apps("acme", "", 3, lambda _: True)).found
    assert [app.environment.app for app in page] == ["app_3", "app_4", "app_6"]


async def test_corrupt_records_of_unused_apps_are_found_in_the_background(region, replica):
    for number in range(480):
        await replica.register(Environment("acme", f"app_{number:03}", "production"))
    for number in (0, 240, 479):
        await _overwrite(region, f"app/acme/app_{number:03}/production", b"{")
    found = []
    for _ in range(4):
        await replica.corrupt.scan()
        found.append(len(replica.corrupt))
    assert found == [1, 2, 3, 3]


@pytest.mark.parametrize("noise", NOISE, ids=repr)
async def test_a_corrupt_app_does_not_stop_the_reclaiming_of_others(region, replica, blog, noise):
    await replica.create()
    await region.put(await replica.table(blog))
    for environment, name in [(SHOP, "sessions"), (BLOG, "posts")]:
        await replica.directory.delete_table(environment, name)
    await _overwrite(region, f"app/{SHOP}", noise)
    await _reclaim_all(region, replica)
    assert region.used_bytes == 0
    assert len(await region.record_names("reclaim/")) == 1


async def test_a_corrupt_app_is_refused_whatever_was_cached_and_others_are_not(region, replica, blog):
    token = await replica.create()
    assert await replica.knows(token)
    await _overwrite(region, f"app/{SHOP}", b"{")
    region.clock.advance(CACHE_TTL_MS)
    for _ in range(2):
        with pytest.raises(AuthUnavailable):
            await replica.knows(token)
    assert await replica.knows(blog)


async def test_calls_of_a_corrupt_app_read_the_store_once_a_second(region, replica):
    token = await replica.create()
    await _overwrite(region, f"app/{SHOP}", b"{")
    region.faults.calls.clear()
    for _ in range(100):
        with pytest.raises(AuthUnavailable):
            await replica.knows(token)
        region.clock.advance(100)
    assert region.faults.count("read") == 2 * 10


async def test_a_restored_app_is_served_again(region, replica):
    token = await replica.create()
    whole = (await region.memory.records.read(f"app/{SHOP}")).document
    await _overwrite(region, f"app/{SHOP}", b"{")
    with pytest.raises(AuthUnavailable):
        await replica.knows(token)
    await _overwrite(region, f"app/{SHOP}", whole)
    region.clock.advance(1000)
    assert await replica.knows(token)


async def test_a_corrupt_pointer_costs_its_token_alone_until_it_is_rotated(region, replica, blog):
    token = await replica.create()
    (name,) = [
        name
        for name in await region.record_names("token/")
        if str(SHOP.app).encode() in (await region.memory.records.read(name)).document
    ]
    await _overwrite(region, name, b"{")
    with pytest.raises(AuthUnavailable):
        await replica.knows(token)
    assert await replica.knows(blog)
    assert await replica.knows(await replica.rotate())
    assert name not in await region.record_names()


async def test_a_record_that_names_another_app_is_corrupt(region, replica, blog):
    copy = (await region.memory.records.read(f"app/{BLOG}")).document
    await _overwrite(region, f"app/{SHOP}", copy)
    with pytest.raises(CorruptRecord):
        await replica.directory.find(SHOP)
    assert [app.environment for app in await replica.apps()] == [BLOG]


async def test_a_corrupt_record_is_logged_once_and_counted_until_it_is_gone(region, replica, caplog):
    token = await replica.create()
    await _overwrite(region, f"app/{SHOP}", b'{"secret')
    await _overwrite(region, "reclaim/nothing", b"{")
    for _ in range(3):
        assert await replica.apps() == []
        await replica.reclaimer.run()
        with pytest.raises(AuthUnavailable):
            await replica.knows(token)
    assert len(replica.corrupt) == 2
    named = [record.fields["record"] for record in caplog.records if "corrupt" in record.message]
    assert sorted(named) == [f"app/{SHOP}", "reclaim/nothing"]
    assert "secret" not in "".join(f"{record.message}{record.fields}" for record in caplog.records)
    await replica.directory.remove(SHOP)
    record = await region.memory.records.read("reclaim/nothing")
    await region.memory.records.swap("reclaim/nothing", None, record.version)
    await replica.corrupt.scan()
    assert len(replica.corrupt) == 0


async def test_a_corrupt_app_that_is_removed_is_gone_and_can_be_registered_anew(region, replica):
    token = await replica.create()
    await _overwrite(region, f"app/{SHOP}", b"{")
    await replica.directory.remove(SHOP)
    assert await region.record_names("app/") == []
    region.clock.advance(1000)
    assert not await replica.knows(token)
    await replica.register()
    assert await replica.knows(await replica.create())


async def test_removing_a_corrupt_app_gives_back_its_readable_tables(region, replica):
    for name in ("a", "b"):
        await region.put(await replica.table(await replica.create(name)))
    await _damage_keeping_the_end(region, f"app/{SHOP}")
    await replica.directory.remove(SHOP)
    await _reclaim_all(region, replica)
    assert region.used_bytes == 0
    assert await region.record_names("reclaim/") == []


@pytest.mark.parametrize("is_other_corrupt", [False, True])
async def test_removing_a_corrupt_app_takes_no_table_from_another(region, replica, blog, is_other_corrupt):
    table = await replica.table(blog)
    await region.put(table)
    await _overwrite(region, f"app/{SHOP}", (await region.memory.records.read(f"app/{BLOG}")).document)
    if is_other_corrupt:
        await _damage_keeping_the_end(region, f"app/{BLOG}")
    await replica.directory.remove(SHOP)
    await _reclaim_all(region, replica)
    assert await region.has(table)


async def test_an_intent_of_a_corrupt_app_waits_until_the_app_is_removed(region, replica):
    table = await replica.table(await replica.create())
    await region.put(table)
    await region.memory.records.swap(
        f"reclaim/{table.keyspace}", encode({"environment": SHOP, "requested_at_ms": 1}), None
    )
    await _overwrite(region, f"app/{SHOP}", b"{")
    await _reclaim_all(region, replica)
    assert await region.has(table)
    await replica.directory.remove(SHOP)
    await _reclaim_all(region, replica)
    assert region.used_bytes == 0


def test_the_error_of_a_corrupt_record_shows_none_of_its_content():
    corrupt = CorruptRecords(MemoryBackend(MemorySettings(), SystemClock()).records)
    with pytest.raises(CorruptRecord) as raised:
        corrupt.decode("app/a/b/c", Record(b'{"secret": 1', "1"), AppRecord)
    assert "secret" not in str(raised.value)
