"""The outcome of a change whose reply is lost: the answer is true, or says that it is unknown."""

import asyncio
import random
from contextlib import suppress

import pytest

from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from gateway.directory.errors import AppNotFound, ChangeUnknown, ControlRefusal, TableExists, TableNotFound
from gateway.directory.records import AppRecord
from gateway.domain.model import Environment
from tests.directory.region import LAST_WRITE_MS, SHOP, Fate, Region

pytestmark = pytest.mark.virtual_time

BLOG = Environment("acme", "blog", "production")
FAULTS = [Fate.REQUEST_LOST, Fate.REPLY_LOST, Fate.LATE]

CHANGES = {
    "register": lambda directory: directory.register(AppRecord(BLOG, "api", active=False)),
    "register again": lambda directory: directory.register(AppRecord(SHOP, "sse", active=False)),
    "suspend": lambda directory: directory.suspend(SHOP),
    "resume": lambda directory: directory.resume(SHOP),
    "create": lambda directory: directory.create_table(SHOP, "more", None),
    "rotate": lambda directory: directory.rotate_table(SHOP, "sessions", 0),
    "delete": lambda directory: directory.delete_table(SHOP, "sessions"),
    "remove": lambda directory: directory.remove(SHOP),
}


def _sometimes(fates: dict[int, Fate]):
    """Sets the fates of the swaps with these numbers, from 0."""
    numbers = iter(range(1_000_000))
    return lambda _: fates.get(next(numbers), Fate.DONE)


async def _state(region: Region) -> dict[str, object]:
    """Returns the apps without their random parts."""
    apps = await region.replica().apps()
    return {
        str(app.environment): (app.type, app.active, app.suspended, [table.name for table in app.tables])
        for app in apps
    }


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", CHANGES)
async def test_a_lost_reply_to_a_swap_is_reported_with_its_real_outcome(region, replica, name, number, fault):
    await replica.create()
    calm = Region()
    undisturbed = calm.replica()
    await undisturbed.register()
    await undisturbed.create()
    expected = await CHANGES[name](undisturbed.directory)
    replica.records.next_fate = _sometimes({number: fault})
    result = await CHANGES[name](replica.directory)
    assert await _state(region) == await _state(calm)
    if name.startswith("register"):
        assert result[1] == expected[1]
    if name in ("create", "rotate"):
        app, token = result
        assert await region.replica().knows(token)
        assert token[-4:] in [table.token_last_four for table in app.tables]


@pytest.mark.parametrize("name", CHANGES)
async def test_without_any_reply_the_outcome_is_unknown_and_the_change_can_be_repeated(region, replica, name):
    await replica.create()
    replica.records.next_fate = lambda record: Fate.LATE if record.startswith("app/") else Fate.DONE
    read = replica.records.read

    async def read_until_a_swap_was_sent(record: str):
        if replica.records._late:
            raise BackendUnavailable("cut off")
        return await read(record)

    replica.records.read = read_until_a_swap_was_sent
    with pytest.raises(ChangeUnknown) as raised:
        await CHANGES[name](replica.directory)
    assert "not known" in raised.value.detail
    replica.records.read = read
    replica.records.next_fate = lambda _: Fate.DONE
    await replica.records._land()
    with suppress(TableExists, TableNotFound, AppNotFound):
        await CHANGES[name](replica.directory)
    assert "more" in str(await _state(region)) or name != "create"
    if name == "rotate":
        assert await region.replica().knows(await replica.rotate())
    for _ in range(3):
        await replica.reclaimer.run()
        region.clock.advance(LAST_WRITE_MS)
    assert await region.record_names("reclaim/") == []


async def test_a_store_that_does_not_answer_at_all_has_changed_nothing(replica):
    replica.records.is_cut_off = True
    with pytest.raises(BackendUnavailable):
        await replica.directory.suspend(SHOP)


async def test_a_swap_that_the_store_refuses_changes_nothing_and_is_sent_once(region, replica):
    region.faults.fail, region.faults.error = {"swap"}, BackendMisconfigured
    region.faults.calls.clear()
    with pytest.raises(BackendMisconfigured):
        await replica.directory.suspend(SHOP)
    assert region.faults.count("swap") == 1


async def test_a_change_is_found_after_others_have_changed_the_app_since(region, replica, other):
    """The swap is applied without a reply, and another replica changes the app before the next read."""
    read, reads = replica.records.read, []

    async def read_after_another_change(name: str):
        reads.append(name)
        if name.startswith("app/") and len(reads) > 1:
            await other.directory.suspend(SHOP)
        return await read(name)

    replica.records.read = read_after_another_change
    replica.records.next_fate = _sometimes({1: Fate.REPLY_LOST})  # 0 is the pointer's
    app, token = await replica.directory.create_table(SHOP, "more", None)
    assert [table.name for table in app.tables] == ["more"]
    assert await other.knows(token)


async def test_the_outcome_is_unknown_after_more_changes_than_the_document_keeps(region, replica, other):
    await other.directory.suspend(SHOP)
    read = replica.records.read
    replica.records.next_fate = _sometimes({0: Fate.REQUEST_LOST})
    reads = []

    async def read_after_many_changes(name: str):
        reads.append(name)
        if len(reads) == 2:
            for _ in range(10):
                await other.directory.resume(SHOP)
        return await read(name)

    replica.records.read = read_after_many_changes
    with pytest.raises(ChangeUnknown):
        await replica.directory.suspend(SHOP)


async def test_a_removal_that_lost_its_reply_does_not_remove_the_app_that_was_registered_since(
    region, replica, other
):
    await replica.create()
    read, reads = replica.records.read, []

    async def read_after_a_new_registration(name: str):
        reads.append(name)
        if name == f"app/{SHOP}" and reads.count(name) == 2:
            await other.register()
        return await read(name)

    replica.records.read = read_after_a_new_registration
    replica.records.next_fate = lambda name: Fate.REPLY_LOST if name.startswith("app/") else Fate.DONE
    with pytest.raises(ChangeUnknown):
        await replica.directory.remove(SHOP)
    assert await other.directory.find(SHOP)


@pytest.mark.parametrize("seed", range(30))
async def test_reported_outcomes_are_true_whatever_messages_are_lost(region, seed):
    """Replicas create, rotate and delete tables concurrently, over links that lose requests and replies."""
    chance = random.Random(seed)
    first = region.replica()
    await first.directory.register(AppRecord(SHOP, "api", active=False, max_tables=1000))

    def fate(_: str) -> Fate:
        return chance.choice([Fate.DONE, Fate.DONE, *FAULTS])

    async def use(number: int) -> tuple[str, str | None, bool]:
        """Returns name, the newest token if known to work, and whether the table is known to exist."""
        replica, name, token = region.replica(seed=chance.random()), f"table_{number}", None
        replica.records.next_fate = fate
        try:
            token = (await replica.directory.create_table(SHOP, name, None))[1]
            if chance.random() < 0.7:
                token = await replica.rotate(name=name)
            if chance.random() < 0.3:
                await replica.directory.delete_table(SHOP, name)
                return name, None, False
        except (BackendError, ChangeUnknown):
            return name, None, True
        except ControlRefusal as refusal:
            raise AssertionError(f"nobody else uses {name}") from refusal
        return name, token, True

    results = await asyncio.gather(*(use(number) for number in range(12)))
    fresh = region.replica()
    names = [table.name for table in (await fresh.directory.find(SHOP)).tables]
    assert len(names) == len(set(names))
    for name, token, is_there in results:
        if token is not None:
            assert name in names
            assert await fresh.knows(token)
        if not is_there:
            assert name not in names
    assert any(token for _, token, _ in results)


@pytest.mark.parametrize("name", ["create", "rotate", "delete"])
async def test_side_records_lost_by_a_failover_within_a_change_are_written_again(region, replica, name):
    """Pointer or intent were written to a master that failed, the app's document to the next one."""
    token = await replica.create()
    changing = region.replica()
    swap = changing.records.swap

    async def after_a_failover(record: str, document: bytes | None, expected: str | None) -> bool:
        if record.startswith("app/"):
            for lost in [*await region.record_names("token/"), *await region.record_names("reclaim/")]:
                if lost not in before:
                    version = (await region.memory.records.read(lost)).version
                    assert await region.memory.records.swap(lost, None, version)
        return await swap(record, document, expected)

    before = await region.record_names()
    changing.records.swap = after_a_failover
    changed = await CHANGES[name](changing.directory)
    if name == "delete":
        assert len(await region.record_names("reclaim/")) == 1
    else:
        token = changed[1]
    assert await region.replica().knows(token) == (name != "delete")


@pytest.mark.parametrize("seconds", [0.1, 20.0])
async def test_a_change_that_was_overtaken_during_a_standstill_is_not_repeated(
    region, replica, other, seconds
):
    read = replica.records.read

    async def stand_still_after_reading(name: str):
        record = await read(name)
        if name.startswith("app/"):
            replica.records.read = read
            await other.directory.suspend(SHOP)
            region.clock.stand_still(seconds)
        return record

    replica.records.read = stand_still_after_reading
    if seconds < 1:
        await replica.directory.resume(SHOP)
    else:
        with pytest.raises(BackendUnavailable, match="overtaken"):
            await replica.directory.resume(SHOP)
    (found,) = await region.replica().apps()
    assert found.suspended is (seconds > 1)
