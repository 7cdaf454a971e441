"""Rules for names and number of tables under concurrency, and the activation of apps."""

import asyncio

import pytest

from gateway.directory.errors import (
    AppNotFound,
    AppTypeNotServed,
    ControlRefusal,
    TableExists,
    TableLimitReached,
    TableNotFound,
)
from gateway.directory.records import AppRecord
from gateway.domain.model import Environment
from tests.directory.region import SHOP, Replica


async def _is_active(replica: Replica) -> bool:
    return (await replica.directory.find(SHOP)).active


async def _outcomes(*tasks) -> list[type]:
    return [type(outcome) for outcome in await asyncio.gather(*tasks, return_exceptions=True)]


@pytest.mark.parametrize("seed", range(6))
async def test_twenty_creations_at_two_replicas_make_three_tables(region, replica, seed):
    slow = [region.replica(seed=seed), region.replica(seed=seed + 100)]
    creations = [slow[number % 2].create(f"table_{number}") for number in range(20)]
    outcomes = await _outcomes(*creations)
    assert (outcomes.count(str), outcomes.count(TableLimitReached)) == (3, 17)
    assert len((await replica.directory.find(SHOP)).tables) == 3


@pytest.mark.parametrize("seed", range(6))
async def test_one_of_many_concurrent_creations_of_one_name_succeeds(region, replica, seed):
    names = ["sessions", "Sessions", "SESSIONS", "sessionS", "sessions"]
    slow = [region.replica(seed=seed * 10 + number) for number in range(len(names))]
    outcomes = await _outcomes(*(each.create(name) for each, name in zip(slow, names, strict=True)))
    assert sorted(outcomes, key=str) == sorted([str, *[TableExists] * 4], key=str)


@pytest.mark.parametrize("seed", range(4))
async def test_concurrent_creations_and_deletions_never_exceed_the_limit(region, replica, seed):
    slow = [region.replica(seed=seed * 10 + number) for number in range(4)]
    for name in ("a", "b", "c"):
        await replica.create(name)

    async def replace(each: Replica, old: str, new: str) -> None:
        await each.directory.delete_table(SHOP, old)
        await each.create(new)

    await asyncio.gather(
        *(replace(each, old, f"{old}{old}") for each, old in zip(slow, "abc", strict=False)),
        *(slow[3].create(f"more_{number}") for number in range(5)),
        return_exceptions=True,
    )
    assert len((await replica.directory.find(SHOP)).tables) <= 3


@pytest.mark.parametrize("seed", range(4))
async def test_refused_creations_leave_no_record_behind(region, replica, seed):
    slow = region.replica(seed=seed)
    await asyncio.gather(*(slow.create(f"table_{number}") for number in range(8)), return_exceptions=True)
    assert len(await region.record_names("token/")) == 3


@pytest.mark.parametrize("limit", [0, 1, 5])
async def test_an_app_may_have_a_limit_of_its_own(replica, limit):
    await replica.register(max_tables=limit)
    for number in range(limit):
        await replica.create(f"table_{number}")
    with pytest.raises(TableLimitReached):
        await replica.create("one_more")


async def test_lowering_the_limit_keeps_existing_tables(replica):
    tokens = [await replica.create(name) for name in ("a", "b", "c")]
    await replica.register(max_tables=1)
    assert all([await replica.knows(token) for token in tokens])
    with pytest.raises(TableLimitReached):
        await replica.create("d")


async def test_a_deleted_table_makes_room_for_another(replica):
    for name in ("a", "b", "c"):
        await replica.create(name)
    await replica.directory.delete_table(SHOP, "b")
    assert await replica.create("d")


async def test_environments_of_an_app_have_tables_of_their_own(replica):
    test = Environment("acme", "shop", "test")
    await replica.register(test)
    token, token_in_test = await replica.create(), await replica.create(environment=test)
    assert await replica.table(token) != await replica.table(token_in_test)


@pytest.mark.parametrize("app_type", ["web", "worker", "static"])
async def test_an_app_of_a_type_that_is_not_served_gets_no_table(replica, app_type):
    await replica.register(app_type=app_type)
    with pytest.raises(AppTypeNotServed):
        await replica.create()


async def test_an_app_is_inactive_until_its_first_table(replica):
    assert not await _is_active(replica)
    await replica.create()
    assert await _is_active(replica)


async def test_the_first_table_of_a_suspended_app_leaves_it_inactive(replica):
    await replica.directory.suspend(SHOP)
    await replica.create()
    assert not await _is_active(replica)
    await replica.directory.resume(SHOP)
    assert await _is_active(replica)


async def test_a_further_table_of_a_suspended_app_leaves_it_inactive(replica):
    await replica.create("a")
    await replica.directory.suspend(SHOP)
    await replica.create("b")
    assert not await _is_active(replica)


async def test_deleting_the_last_table_leaves_an_app_active(replica):
    await replica.create()
    await replica.directory.delete_table(SHOP, "sessions")
    assert await _is_active(replica)


async def test_registering_again_changes_type_and_limits_and_nothing_else(replica):
    token = await replica.create()
    await replica.directory.suspend(SHOP)
    before = await replica.directory.find(SHOP)
    await replica.register(app_type="sse", requests_per_minute=7, max_tables=9)
    after = await replica.directory.find(SHOP)
    assert (after.type, after.requests_per_minute, after.max_tables) == ("sse", 7, 9)
    assert (after.tables, after.active, after.suspended) == (before.tables, False, True)
    assert await replica.knows(token)


async def test_registering_again_without_a_limit_restores_the_default(replica):
    await replica.register(requests_per_minute=7)
    await replica.register()
    assert (await replica.directory.find(SHOP)).requests_per_minute is None


@pytest.mark.parametrize("seed", range(4))
async def test_one_of_many_concurrent_registrations_creates_the_app(region, seed):
    slow = region.replica(seed=seed)
    app = AppRecord(SHOP, "api", active=False)
    created = [new for _, new in await asyncio.gather(*(slow.directory.register(app) for _ in range(6)))]
    assert sorted(created) == [False] * 5 + [True]


@pytest.mark.parametrize("seed", range(6))
async def test_concurrent_changes_of_all_kinds_are_each_applied_or_refused(region, replica, seed):
    """No change is lost, and none fails because of the others."""
    slow = [region.replica(seed=seed * 20 + number) for number in range(8)]
    await replica.create("a")
    outcomes = await asyncio.gather(
        slow[0].create("b"),
        slow[1].rotate(name="a"),
        slow[2].directory.suspend(SHOP),
        slow[3].register(requests_per_minute=5),
        slow[4].create("c"),
        slow[5].rotate(name="a"),
        return_exceptions=True,
    )
    assert not [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    app = await replica.directory.find(SHOP)
    assert ({table.name for table in app.tables}, app.active, app.requests_per_minute) == (
        {"a", "b", "c"},
        False,
        5,
    )
    assert sorted([await replica.knows(outcomes[1]), await replica.knows(outcomes[5])]) == [False, True]


@pytest.mark.parametrize("name", ["Sessions", "session", "sessions ", "", "*"])
async def test_a_table_is_found_by_exactly_its_name(replica, name):
    await replica.create()
    for change in (replica.directory.delete_table(SHOP, name), replica.rotate(name=name)):
        with pytest.raises(TableNotFound):
            await change


async def test_every_change_of_an_unregistered_app_is_refused(region):
    directory = region.replica().directory
    for change in (
        directory.find(SHOP),
        directory.remove(SHOP),
        directory.suspend(SHOP),
        directory.resume(SHOP),
        directory.create_table(SHOP, "a", None),
        directory.rotate_table(SHOP, "a", 0),
        directory.delete_table(SHOP, "a"),
    ):
        with pytest.raises(AppNotFound):
            await change
    assert await region.record_names() == []
    assert issubclass(AppNotFound, ControlRefusal)
