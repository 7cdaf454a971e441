"""Bounds on the delay of a change without the feed. Two replicas share one record store."""

import asyncio

import pytest

from gateway.directory.errors import TableNotFound
from gateway.domain.model import Environment
from tests.directory.region import CACHE_TTL_MS, SHOP


async def _suspend(replica):
    await replica.directory.suspend(SHOP)


async def _rotate(replica):
    await replica.rotate()


async def _delete(replica):
    await replica.directory.delete_table(SHOP, "sessions")


async def _remove(replica):
    await replica.directory.remove(SHOP)


REVOCATIONS = [_rotate, _delete, _remove]


async def _may_use(replica, token: str) -> bool:
    binding = await replica.bindings.resolve(token.encode())
    return binding is not None and binding.active


@pytest.mark.parametrize("revoke", [*REVOCATIONS, _suspend])
async def test_a_revoked_token_is_refused_immediately_on_the_replica_that_revoked_it(replica, revoke):
    token = await replica.create()
    assert await _may_use(replica, token)
    await revoke(replica)
    assert not await _may_use(replica, token)


@pytest.mark.parametrize("revoke", [*REVOCATIONS, _suspend])
async def test_a_revoked_token_is_refused_on_another_replica_within_the_cache_time(
    region, replica, other, revoke
):
    token = await replica.create()
    assert await _may_use(other, token)
    region.clock.advance(1)
    await revoke(replica)
    region.clock.advance(CACHE_TTL_MS - 1)
    assert not await _may_use(other, token)


@pytest.mark.parametrize("revoke", REVOCATIONS)
async def test_a_token_in_constant_use_is_not_cached_for_longer(region, replica, other, revoke):
    token = await replica.create()
    await other.knows(token)
    await revoke(replica)
    known = []
    for _ in range(11):
        known.append(await other.knows(token))
        region.clock.advance(CACHE_TTL_MS // 10)
    assert known == [True] * 10 + [False]


async def test_a_resumed_app_is_served_on_another_replica_within_the_cache_time(region, replica, other):
    token = await replica.create()
    await _suspend(replica)
    assert not await _may_use(other, token)
    await replica.directory.resume(SHOP)
    assert await _may_use(replica, token)
    region.clock.advance(CACHE_TTL_MS)
    assert await _may_use(other, token)


async def test_a_new_token_works_immediately_on_every_replica(replica, other):
    token = await replica.create()
    assert await other.knows(token)
    assert await other.knows(await replica.rotate())


async def test_with_a_cache_time_of_zero_every_replica_sees_every_change_immediately(region, replica):
    other = region.replica(cache_ttl_ms=0)
    token = await replica.create()
    assert await other.knows(token)
    await replica.rotate()
    assert not await other.knows(token)


@pytest.mark.parametrize("revoke", REVOCATIONS)
async def test_a_lookup_in_flight_during_a_revocation_neither_answers_nor_is_cached(replica, revoke, region):
    token = await replica.create()
    replica.records.release_reads.clear()
    lookup = asyncio.create_task(replica.knows(token))
    await replica.records.read_done.wait()
    await revoke(region.replica(bindings=replica.bindings))
    replica.records.release_reads.set()
    assert not await lookup
    assert not await replica.knows(token)


@pytest.mark.parametrize("seed", range(8))
async def test_no_lookup_that_begins_after_a_revocation_succeeds(region, replica, seed):
    slow = region.replica(seed=seed)
    token = await replica.create()
    lookups = [asyncio.create_task(slow.knows(token)) for _ in range(5)]
    revocation = asyncio.create_task(slow.rotate())
    while not revocation.done():
        lookups.append(asyncio.create_task(slow.knows(token)))
        await asyncio.sleep(0)
    assert not await slow.knows(token)
    await asyncio.gather(*lookups)
    assert not await slow.knows(token)


async def test_a_change_of_one_app_leaves_the_cached_bindings_of_others(region, replica):
    elsewhere = Environment("acme", "blog", "production")
    await replica.register(elsewhere)
    token = await replica.create("posts", elsewhere)
    await replica.knows(token)
    await replica.create()
    region.faults.calls.clear()
    assert await replica.knows(token)
    assert region.faults.calls == []


async def test_changes_of_other_apps_do_not_restart_a_lookup(region, replica):
    token = await replica.create()
    region.faults.calls.clear()
    region.faults.gate.clear()
    lookup = asyncio.create_task(replica.knows(token))
    await asyncio.sleep(0)
    for number in range(100):
        replica.bindings.invalidate(Environment("acme", f"app-{number}", "production"))
    region.faults.gate.set()
    assert await lookup
    assert region.faults.count("read") == 2


async def test_a_refused_change_leaves_cached_bindings_in_use(region, replica):
    token = await replica.create()
    await replica.knows(token)
    with pytest.raises(TableNotFound):
        await replica.directory.delete_table(SHOP, "nobody")
    region.faults.calls.clear()
    assert await replica.knows(token)
    assert region.faults.count("read") == 0
