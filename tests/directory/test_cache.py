"""The cache of bindings: shared lookups, a bounded negative cache, and use during an outage."""

import asyncio

import pytest

from backends.errors import BackendUnavailable, CorruptEntry
from gateway.directory.resolve import cache
from gateway.directory.tokens import new_token
from gateway.domain.errors import AuthUnavailable
from tests.directory.region import CACHE_TTL_MS, SHOP, STALE_TTL_MS


async def test_a_thousand_concurrent_lookups_read_each_record_once(region, replica, other):
    token = await replica.create()
    region.faults.calls.clear()
    region.faults.gate.clear()
    lookups = [asyncio.create_task(other.knows(token)) for _ in range(1000)]
    await asyncio.sleep(0)
    region.faults.gate.set()
    assert all(await asyncio.gather(*lookups))
    assert sorted(name.split("/")[0] for _, name in region.faults.calls) == ["app", "token"]


async def test_a_thousand_lookups_of_an_expired_binding_read_the_apps_record_once(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.clock.advance(CACHE_TTL_MS)
    region.faults.calls.clear()
    region.faults.gate.clear()
    lookups = [asyncio.create_task(replica.knows(token)) for _ in range(1000)]
    await asyncio.sleep(0)
    region.faults.gate.set()
    assert all(await asyncio.gather(*lookups))
    assert [name.split("/")[0] for _, name in region.faults.calls] == ["app"]


async def test_an_expired_binding_is_kept_if_its_app_was_not_changed(region, replica):
    token = await replica.create()
    before = await replica.bindings.resolve(token.encode())
    region.clock.advance(CACHE_TTL_MS)
    assert await replica.bindings.resolve(token.encode()) is before


async def test_an_expired_binding_is_rebuilt_if_its_app_was_changed(region, replica, other):
    token = await replica.create()
    before = await replica.bindings.resolve(token.encode())
    await other.directory.suspend(SHOP)
    region.clock.advance(CACHE_TTL_MS)
    after = await replica.bindings.resolve(token.encode())
    assert (before.active, after.active) == (True, False)


async def test_an_expired_binding_is_gone_if_its_app_was_removed_and_registered_again(region, replica, other):
    token = await replica.create()
    assert await replica.knows(token)
    await other.directory.remove(SHOP)
    await other.register()
    await other.create()
    region.clock.advance(CACHE_TTL_MS)
    assert not await replica.knows(token)


async def test_a_thousand_concurrent_lookups_that_fail_read_once_and_all_fail(region, replica, other):
    token = await replica.create()
    region.faults.calls.clear()
    region.faults.fail = {"read"}
    region.faults.gate.clear()
    lookups = [asyncio.create_task(other.knows(token)) for _ in range(1000)]
    await asyncio.sleep(0)
    region.faults.gate.set()
    outcomes = await asyncio.gather(*lookups, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {AuthUnavailable}
    assert region.faults.count("read") == 1


async def test_cancelling_one_waiting_lookup_does_not_cancel_the_others(region, replica, other):
    token = await replica.create()
    region.faults.gate.clear()
    first, second = (asyncio.create_task(other.knows(token)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    region.faults.gate.set()
    assert await second


async def test_a_known_token_costs_no_read_within_the_cache_time(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.faults.calls.clear()
    region.clock.advance(CACHE_TTL_MS - 1)
    assert await replica.knows(token)
    assert region.faults.calls == []


async def test_an_unknown_token_is_read_once_per_cache_time(region, replica):
    token = new_token()
    assert not await replica.knows(token)
    region.faults.calls.clear()
    region.clock.advance(CACHE_TTL_MS - 1)
    assert not await replica.knows(token)
    assert region.faults.calls == []
    region.clock.advance(1)
    assert not await replica.knows(token)
    assert region.faults.count("read") == 1


async def test_the_negative_cache_is_bounded(monkeypatch, region):
    monkeypatch.setattr(cache, "MAX_UNKNOWN_TOKENS", 50)
    replica = region.replica()
    tokens = [new_token() for _ in range(200)]
    for token in tokens:
        await replica.knows(token)
    assert len(replica.bindings._cache._unknown_until_ms) == 50
    assert len(replica.bindings) == 0


async def test_the_cache_of_bindings_is_bounded(monkeypatch, region, replica):
    monkeypatch.setattr(cache, "MAX_BINDINGS", 2)
    small = region.replica()
    tokens = [await replica.create(name) for name in ("a", "b", "c")]
    assert all([await small.knows(token) for token in tokens])
    assert len(small.bindings) == 2


async def test_while_the_store_is_down_a_known_token_works_for_the_stale_time(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.faults.fail = {"*"}
    region.clock.advance(CACHE_TTL_MS + STALE_TTL_MS - 1)
    assert await replica.knows(token)
    region.clock.advance(1)
    with pytest.raises(AuthUnavailable):
        await replica.knows(token)


async def test_while_the_store_is_down_a_known_token_tries_it_once_a_second(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.clock.advance(CACHE_TTL_MS)
    region.faults.fail = {"*"}
    region.faults.calls.clear()
    for _ in range(100):
        assert await replica.knows(token)
        region.clock.advance(100)
    assert region.faults.count("read") == 10


async def test_a_store_that_recovers_decides_again(region, replica, other):
    token = await replica.create()
    await other.knows(token)
    await replica.rotate()
    region.faults.fail = {"*"}
    region.clock.advance(CACHE_TTL_MS)
    assert await other.knows(token)
    region.faults.fail.clear()
    region.clock.advance(1000)
    assert not await other.knows(token)


@pytest.mark.parametrize("error", [BackendUnavailable, CorruptEntry])
async def test_while_the_store_is_down_an_unknown_token_is_not_decided(region, replica, error):
    region.faults.fail, region.faults.error = {"read"}, error
    with pytest.raises(AuthUnavailable):
        await replica.knows(new_token())


async def test_a_failed_lookup_is_not_cached(region, replica, other):
    token = await replica.create()
    region.faults.fail = {"read"}
    with pytest.raises(AuthUnavailable):
        await other.knows(token)
    region.faults.fail.clear()
    assert await other.knows(token)


async def test_a_change_that_fails_because_the_store_is_down_does_not_end_known_tokens(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.faults.fail = {"*"}
    with pytest.raises(BackendUnavailable):
        await replica.directory.suspend(SHOP)
    assert await replica.knows(token)


@pytest.mark.virtual_time
async def test_a_change_that_failed_is_checked_before_a_known_token_is_used_again(region, replica, other):
    token = await replica.create()
    await replica.knows(token)
    region.faults.fail = {"swap"}
    with pytest.raises(BackendUnavailable):
        await replica.rotate()
    region.faults.fail.clear()
    await other.rotate()
    assert not await replica.knows(token)


async def test_a_jump_of_the_wall_clock_changes_nothing(region, replica):
    token = await replica.create()
    await replica.knows(token)
    region.faults.calls.clear()
    region.clock.jump_wall(10 * STALE_TTL_MS)
    assert await replica.knows(token)
    assert region.faults.calls == []
