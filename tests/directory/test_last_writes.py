"""No entry of a deleted table survives reclaiming, whatever replicas have cached."""

import asyncio

import pytest

from gateway.directory.reclaim.lease import LEASE_MS
from gateway.domain.errors import AuthUnavailable
from tests.directory.region import CACHE_TTL_MS, LAST_WRITE_MS, SHOP, STALE_TTL_MS, Region, Replica
from tests.support.clock import FakeClock

ROUND_MS = 15_000
HOUR_MS = 3_600_000


class Apart(FakeClock):
    """The region's clock with another wall time."""

    def __init__(self, clock: FakeClock, wall_lead_ms: int) -> None:
        super().__init__()
        self._clock, self._lead_ms = clock, wall_lead_ms

    def wall_ms(self) -> int:
        return self._clock.wall_ms() + self._lead_ms

    def monotonic_ms(self) -> int:
        return self._clock.monotonic_ms()


async def _write(region: Region, replica: Replica, token: str) -> bool:
    """Puts once, if the replica still accepts the token."""
    try:
        binding = await replica.bindings.resolve(token.encode())
    except AuthUnavailable:
        return False
    if binding is None:
        return False
    await region.put(binding.table)
    return True


async def _writes_of_a_replica_that_is_cut_off(region: Region, reclaiming: Replica, writing: Replica) -> int:
    """Returns the number of its writes between the deletion and the end of reclaiming."""
    token = await reclaiming.create()
    assert await _write(region, writing, token)
    writing.records.is_cut_off = True
    await reclaiming.directory.delete_table(SHOP, "sessions")
    writes = 0
    while await region.record_names("reclaim/"):
        writes += await _write(region, writing, token)
        await reclaiming.reclaimer.run()
        region.clock.advance(ROUND_MS)
    assert not await _write(region, writing, token)
    return writes


async def test_late_writes_of_a_replica_that_cannot_read_the_directory_are_given_back(region, replica, other):
    assert await _writes_of_a_replica_that_is_cut_off(region, replica, other) > 40
    assert region.used_bytes == 0


async def test_the_wait_covers_the_longest_retention_of_all_replicas(region, replica):
    longest = region.replica(stale_ttl_ms=2 * HOUR_MS)
    assert await _writes_of_a_replica_that_is_cut_off(region, replica, longest) > 400
    assert region.used_bytes == 0


@pytest.mark.parametrize("lead_ms", [-24 * HOUR_MS, 24 * HOUR_MS])
async def test_a_wall_clock_that_is_wrong_does_not_shorten_the_wait(region, replica, other, lead_ms):
    wrong = region.replica(clock=Apart(region.clock, lead_ms))
    assert await _writes_of_a_replica_that_is_cut_off(region, wrong, other) > 40
    assert region.used_bytes == 0


async def test_replica_caches_nothing_until_its_retention_is_registered(region, replica):
    token = await replica.create()
    unheard = region.replica(stale_ttl_ms=HOUR_MS)
    region.faults.fail = {"swap"}
    assert await unheard.knows(token)
    unheard.records.is_cut_off = True
    with pytest.raises(AuthUnavailable):
        await unheard.knows(token)


async def test_the_longest_possible_retention_is_assumed_while_the_stored_one_is_corrupt(region, replica):
    token = await replica.create()
    assert await replica.knows(token)
    record = await region.memory.records.read("memory/bindings")
    assert await region.memory.records.swap("memory/bindings", b"{", record.version)
    await replica.directory.delete_table(SHOP, "sessions")
    for _ in range(2):
        await replica.reclaimer.run()
        region.clock.advance(24 * HOUR_MS)
    assert len(await region.record_names("reclaim/")) == 1
    for _ in range(3):
        await replica.reclaimer.run()
        region.clock.advance(24 * HOUR_MS)
    assert await region.record_names("reclaim/") == []


async def test_a_pause_of_the_process_during_a_lookup_does_not_extend_the_cache_time(region, replica, other):
    token = await replica.create()
    other.records.release_reads.clear()
    lookup = asyncio.create_task(other.knows(token))
    await other.records.read_done.wait()
    await asyncio.sleep(0)
    await replica.directory.delete_table(SHOP, "sessions")
    region.clock.advance(CACHE_TTL_MS + STALE_TTL_MS)
    other.records.release_reads.set()
    await lookup
    assert not await other.knows(token)


async def test_a_restart_keeps_the_completed_parts_of_the_wait(region, replica):
    await replica.create()
    await replica.directory.delete_table(SHOP, "sessions")
    await replica.reclaimer.run()
    for _ in range(4):
        restarted = region.replica()
        await restarted.reclaimer.run()
        region.clock.advance(LEASE_MS)
        await restarted.reclaimer.run()
        assert await region.record_names("reclaim/")
        region.clock.advance(LAST_WRITE_MS // 4 + 1)
        await restarted.reclaimer.run()
    assert await region.record_names("reclaim/") == []


async def test_replicas_that_wait_in_parallel_do_not_count_the_same_time_twice(region, replica):
    replicas = [region.replica() for _ in range(5)]
    await replica.create()
    await replica.directory.delete_table(SHOP, "sessions")
    passed_ms = 0
    while await region.record_names("reclaim/"):
        for each in replicas:
            await each.reclaimer.run()
        region.clock.advance(ROUND_MS)
        passed_ms += ROUND_MS
    assert LAST_WRITE_MS <= passed_ms <= LAST_WRITE_MS + 8 * ROUND_MS


async def test_a_deletion_that_paused_until_its_intent_was_dropped_writes_it_again(region, replica):
    await replica.create()
    slow = region.replica()
    swap = slow.records.swap

    async def held_up(name: str, document: bytes | None, expected: str | None) -> bool:
        if name.startswith("app/"):
            await replica.reclaimer.run()
            region.clock.advance(2 * HOUR_MS)
            await replica.reclaimer.run()
            assert await region.record_names("reclaim/") == []
        return await swap(name, document, expected)

    slow.records.swap = held_up
    await slow.directory.delete_table(SHOP, "sessions")
    assert len(await region.record_names("reclaim/")) == 1
