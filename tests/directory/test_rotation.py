"""A rotation ends the old token immediately, or after the given overlap."""

from hashlib import sha256

import pytest

from gateway.directory.errors import TooManyTokens
from tests.directory.region import CACHE_TTL_MS, SHOP


async def _known(replica, *tokens: str) -> list[bool]:
    return [await replica.knows(token) for token in tokens]


async def test_a_rotated_token_is_refused_immediately_and_the_new_one_works(replica):
    old = await replica.create()
    new = await replica.rotate()
    assert await _known(replica, old, new) == [False, True]


async def test_both_tokens_name_the_same_entries(replica):
    old = await replica.create()
    before = await replica.table(old)
    assert await replica.table(await replica.rotate()) == before


async def test_during_an_overlap_both_tokens_work_and_after_it_the_new_one_alone(region, replica):
    old = await replica.create()
    new = await replica.rotate(overlap_seconds=300)
    region.clock.advance(299_999)
    assert await _known(replica, old, new) == [True, True]
    region.clock.advance(1)
    assert await _known(replica, old, new) == [False, True]


async def test_an_overlap_ends_on_every_replica_at_the_same_moment_whatever_is_cached(region, replica, other):
    old = await replica.create()
    await replica.rotate(overlap_seconds=CACHE_TTL_MS // 1000 // 2)
    assert await _known(other, old) == [True]
    region.clock.advance(CACHE_TTL_MS // 2)
    assert await _known(other, old) == [False]


async def test_rotated_twice_with_overlap_each_token_has_its_own_end(region, replica):
    first = await replica.create()
    second = await replica.rotate(overlap_seconds=100)
    region.clock.advance(50_000)
    third = await replica.rotate(overlap_seconds=100)
    assert await _known(replica, first, second, third) == [True, True, True]
    region.clock.advance(50_000)
    assert await _known(replica, first, second, third) == [False, True, True]
    region.clock.advance(50_000)
    assert await _known(replica, first, second, third) == [False, False, True]


async def test_a_rotation_without_overlap_ends_a_running_overlap(replica):
    first = await replica.create()
    second = await replica.rotate(overlap_seconds=3600)
    third = await replica.rotate()
    assert await _known(replica, first, second, third) == [False, False, True]


async def test_a_later_overlap_shortens_an_earlier_one_and_never_lengthens_it(region, replica):
    first = await replica.create()
    second = await replica.rotate(overlap_seconds=3600)
    await replica.rotate(overlap_seconds=10)
    region.clock.advance(10_000)
    assert await _known(replica, first, second) == [False, False]


async def test_deleting_the_table_ends_an_overlap(replica):
    old = await replica.create()
    new = await replica.rotate(overlap_seconds=3600)
    await replica.directory.delete_table(SHOP, "sessions")
    assert await _known(replica, old, new) == [False, False]


async def test_while_the_store_is_down_an_overlap_still_ends(region, replica):
    old = await replica.create()
    await replica.rotate(overlap_seconds=60)
    assert await replica.knows(old)
    region.faults.fail = {"*"}
    region.clock.advance(60_000)
    assert not await replica.knows(old)


async def test_records_of_ended_tokens_are_removed_by_the_next_rotation(region, replica):
    await replica.create()
    for _ in range(5):
        await replica.rotate(overlap_seconds=1)
        region.clock.advance(1000)
    newest = await replica.rotate()
    assert await region.record_names("token/") == [f"token/{sha256(newest.encode()).hexdigest()}"]


async def test_a_rotation_leaves_the_tables_identity(region, replica):
    await replica.create()
    before = (await replica.directory.find(SHOP)).tables[0]
    region.clock.advance(5000)
    token = await replica.rotate()
    after = (await replica.directory.find(SHOP)).tables[0]
    assert (after.id, after.name, after.created_at_ms) == (before.id, before.name, before.created_at_ms)
    assert (after.updated_at_ms, after.token_last_four) == (before.updated_at_ms + 5000, token[-4:])


async def test_at_most_eight_tokens_of_a_table_are_valid_at_a_time(region, replica):
    tokens = [await replica.create()]
    tokens += [await replica.rotate(overlap_seconds=100) for _ in range(7)]
    with pytest.raises(TooManyTokens):
        await replica.rotate(overlap_seconds=100)
    assert await _known(replica, *tokens) == [True] * 8
    region.clock.advance(100_000)
    tokens.append(await replica.rotate(overlap_seconds=100))
    assert await _known(replica, *tokens[-3:]) == [False, True, True]


async def test_a_rotation_without_overlap_is_possible_however_many_tokens_are_valid(replica):
    tokens = [await replica.create()]
    tokens += [await replica.rotate(overlap_seconds=100) for _ in range(7)]
    tokens.append(await replica.rotate())
    assert await _known(replica, *tokens) == [False] * 8 + [True]


@pytest.mark.parametrize("change", ["suspend", "resume"])
async def test_the_next_change_of_an_app_drops_ended_tokens(region, replica, change):
    await replica.create()
    for _ in range(5):
        await replica.rotate(overlap_seconds=100)
    await replica.create("other")
    assert len(await region.record_names("token/")) == 7
    region.clock.advance(100_000)
    await getattr(replica.directory, change)(SHOP)
    assert len(await region.record_names("token/")) == 2
    assert [table.retiring for table in (await replica.directory.find(SHOP)).tables] == [(), ()]


async def test_a_record_does_not_grow_with_the_number_of_changes(region, replica):
    await replica.create()
    sizes = set()
    for _ in range(50):
        await replica.rotate(overlap_seconds=10)
        region.clock.advance(5_000)
        sizes.add(len((await region.memory.records.read(f"app/{SHOP}")).document))
    assert max(sizes) < 2000
