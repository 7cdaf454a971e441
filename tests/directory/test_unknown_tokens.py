"""Invented tokens cost the store a bounded number of reads, and other callers nothing."""

import asyncio

import pytest

from gateway.directory.resolve.unknown_tokens import MAX_UNKNOWN
from gateway.directory.tokens import new_token
from gateway.domain.errors import AuthUnavailable
from tests.directory.region import SHOP, Region

ATTACKER, OTHER = "arn:aws:iam::1:role/a", "arn:aws:iam::1:role/b"


async def known(replica, token: str, caller: str = ATTACKER) -> bool:
    return await replica.bindings.resolve(token.encode(), caller) is not None


async def invent(replica, tokens: int, caller: str = ATTACKER) -> None:
    for _ in range(tokens):
        assert not await known(replica, new_token(), caller)


def reads(region: Region) -> int:
    return region.faults.count("read")


async def test_a_thousand_invented_tokens_of_one_caller_cost_a_bounded_number_of_reads(region, replica):
    before = reads(region)
    await invent(replica, 1000)
    assert reads(region) - before == MAX_UNKNOWN
    assert replica.bindings.counts.withheld == 1000 - MAX_UNKNOWN


async def test_repeated_invented_tokens_cost_a_bounded_number_of_reads(region, replica):
    before = reads(region)
    for _ in range(1000):
        token = new_token()
        for _ in range(3):
            assert not await known(replica, token)
    assert reads(region) - before == 2 * MAX_UNKNOWN


async def test_a_new_token_of_the_same_role_works_at_its_second_call(replica):
    await invent(replica, 1000)
    token = await replica.create()
    assert [await known(replica, token) for _ in range(3)] == [False, True, True]


async def test_a_cached_token_works_although_its_caller_is_over_budget(region, replica):
    token = await replica.create()
    assert await known(replica, token)
    await invent(replica, 1000)
    assert await known(replica, token)
    region.clock.advance(11_000)
    assert await known(replica, token)


async def test_a_token_whose_app_was_changed_works_although_its_caller_is_over_budget(replica):
    token = await replica.create()
    assert await known(replica, token)
    await invent(replica, 1000)
    await replica.directory.suspend(SHOP)
    assert await known(replica, token)


async def test_a_changed_app_is_not_served_from_the_cache_while_the_store_is_down(region, replica):
    token = await replica.create()
    assert await known(replica, token)
    replica.bindings.invalidate(SHOP)
    region.faults.fail = {"read"}
    with pytest.raises(AuthUnavailable):
        await known(replica, token)


async def test_another_role_is_not_affected(replica):
    await invent(replica, 1000)
    assert await known(replica, await replica.create(), OTHER)


async def test_tokens_that_are_found_cost_no_budget(region):
    first, restarted = region.replica(), region.replica()
    await first.register(max_tables=1000)
    tokens = [await first.create(f"t{number}") for number in range(MAX_UNKNOWN + 50)]
    assert all(await asyncio.gather(*(known(restarted, token) for token in tokens)))


async def test_one_unknown_token_in_many_concurrent_calls_is_charged_once(region, replica):
    dead = new_token()
    replica.records.release_reads.clear()
    calls = [asyncio.create_task(known(replica, dead)) for _ in range(2 * MAX_UNKNOWN)]
    await asyncio.sleep(0)
    replica.records.release_reads.set()
    assert not any(await asyncio.gather(*calls))
    before = reads(region)
    await invent(replica, MAX_UNKNOWN)
    assert reads(region) - before == MAX_UNKNOWN - 1


async def test_the_budget_is_restored_after_a_minute_whatever_the_wall_clock_says(region, replica):
    await invent(replica, 1000)
    before = reads(region)
    region.clock.jump_wall(3_600_000)
    await invent(replica, 10)
    assert reads(region) == before
    region.clock.advance(60_000)
    await invent(replica, 1000)
    assert reads(region) - before == MAX_UNKNOWN


async def test_malformed_tokens_cost_no_budget(replica):
    for _ in range(1000):
        assert not await known(replica, "kvs_mistyped")
    assert await known(replica, await replica.create())


async def test_a_new_token_announced_by_the_feed_works_although_its_role_is_over_budget(replica, other):
    await other.feed.follow()
    for _ in range(3 * MAX_UNKNOWN):
        token = new_token()
        assert [await known(other, token), await known(other, token)] == [False, False]
    token = await replica.create()
    await other.feed.follow()
    assert await known(other, token)
