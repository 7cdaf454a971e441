"""The feed of changes: its effect on a replica, and the guarantees without it. Two replicas share a store."""

import asyncio

import pytest
from msgspec import structs

from backends.interface import MAX_CHANGES
from gateway.directory.resolve.freshness import SILENCE_MS
from gateway.domain.errors import AuthUnavailable
from gateway.domain.model import Environment
from tests.directory.region import CACHE_TTL_MS, SHOP, STALE_TTL_MS, Fate
from tests.directory.test_staleness import REVOCATIONS, _may_use, _rotate, _suspend

HOURS_MS = 24 * 3_600_000


async def _pass(region, replica, seconds: int) -> None:
    """Advances the clock while the replica polls the feed once a second."""
    for _ in range(seconds):
        await replica.feed.follow()
        region.clock.advance(1000)
    await replica.feed.follow()


@pytest.fixture
async def following(region, other):
    """Returns the other replica after its first poll."""
    await _pass(region, other, 1)
    return other


@pytest.mark.parametrize("revoke", [*REVOCATIONS, _suspend])
async def test_a_revoked_token_is_refused_on_another_replica_after_its_next_poll(replica, following, revoke):
    token = await replica.create()
    assert await _may_use(following, token)
    await revoke(replica)
    await following.feed.follow()
    assert not await _may_use(following, token)


async def test_a_known_token_is_never_read_again_while_the_feed_answers(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    assert await following.knows(token)
    region.faults.calls.clear()
    for _ in range(100):
        await _pass(region, following, 1)
        assert await following.knows(token)
    assert region.faults.count("read") == 0


async def test_at_rest_a_replica_sends_one_read_per_second(region, replica, following):
    for number in range(50):
        environment = Environment("acme", f"app-{number}", "production")
        await replica.register(environment)
        await following.knows(await replica.create("t", environment))
    await _pass(region, following, 1)
    region.faults.calls.clear()
    await _pass(region, following, 10)
    assert {operation for operation, _ in region.faults.calls} == {"changes"}
    assert len(region.faults.calls) == 11


async def test_a_change_of_one_app_leaves_others_alone(region, replica, following):
    blog = Environment("acme", "blog", "production")
    await replica.register(blog)
    token = await replica.create("posts", blog)
    await replica.create()
    await following.feed.follow()
    await following.knows(token)
    region.faults.calls.clear()
    await replica.rotate()
    await following.feed.follow()
    region.faults.calls.clear()
    assert await following.knows(token)
    assert region.faults.calls == []


async def test_when_the_feed_is_silent_a_token_is_read_again_after_the_cache_time(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await following.feed.follow()
    region.faults.fail = {"changes"}
    await replica.rotate()
    await _pass(region, following, 1)
    assert await following.knows(token)
    region.clock.advance(CACHE_TTL_MS - 1000)
    assert not await following.knows(token)


async def test_a_long_cached_token_is_read_again_as_soon_as_the_feed_is_silent(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, CACHE_TTL_MS // 1000)
    region.faults.fail = {"changes"}
    await replica.rotate()
    region.clock.advance(SILENCE_MS - 1)
    await following.feed.follow()
    assert await following.knows(token)
    region.clock.advance(1)
    assert not await following.knows(token)


async def test_a_paused_replica_uses_no_binding_that_the_feed_has_not_confirmed_since(
    region, replica, following
):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, 20)
    await replica.rotate()
    region.clock.advance(HOURS_MS)
    assert not await following.knows(token)


async def test_every_binding_is_read_again_after_a_feed_that_may_have_lost_changes(
    region, replica, following
):
    tokens = [await replica.create()]
    assert await following.knows(tokens[0])
    await replica.rotate()
    elsewhere = Environment("acme", "blog", "production")
    await replica.register(elsewhere)
    for _ in range(MAX_CHANGES):
        await replica.directory.suspend(elsewhere)
    await following.feed.follow()
    assert not await following.knows(tokens[0])


async def test_the_first_answer_of_the_feed_confirms_no_earlier_binding(region, replica, other):
    """The first answer holds only the position of the feed, no earlier changes."""
    token = await replica.create()
    assert await other.knows(token)
    await replica.rotate()
    await other.feed.follow()
    assert not await other.knows(token)


async def test_an_outage_is_bridged_from_the_last_answer_of_the_feed(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, 3600)
    region.faults.fail = {"*"}
    region.clock.advance(CACHE_TTL_MS + STALE_TTL_MS - 1)
    assert await following.knows(token)
    region.clock.advance(1)
    with pytest.raises(AuthUnavailable):
        await following.knows(token)


async def _lose_changes(region) -> None:
    """Makes more changes than one answer of the feed can hold."""
    for _ in range(MAX_CHANGES + 1):
        await region.backend.records.swap("other/record", b"1", await _version(region, "other/record"))


async def _may_use_in_an_outage(region, replica, token: str, seconds: int) -> bool:
    """Returns whether a token in constant use works after so many seconds of an outage."""
    region.faults.fail = {"*"}
    may_use = True
    for _ in range(seconds):
        region.clock.advance(1000)
        try:
            may_use = await replica.knows(token)
        except AuthUnavailable:
            may_use = False
    return may_use


@pytest.mark.parametrize("revoke", REVOCATIONS)
async def test_a_binding_from_before_a_gap_is_used_only_for_the_cache_time_in_an_outage(
    region, replica, following, revoke
):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, 3600)
    await revoke(replica)
    await _lose_changes(region)
    await following.feed.follow()
    assert await _may_use_in_an_outage(region, following, token, CACHE_TTL_MS // 1000 - 1)
    assert not await _may_use_in_an_outage(region, following, token, 1)


async def test_a_second_gap_of_the_feed_does_not_extend_the_use_of_a_binding(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _rotate(replica)
    for _ in range(2):
        await _lose_changes(region)
        await _pass(region, following, CACHE_TTL_MS // 1000 - 2)
    assert not await _may_use_in_an_outage(region, following, token, 1)


async def test_a_binding_looked_up_after_a_gap_is_usable_during_an_outage(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _lose_changes(region)
    await following.feed.follow()
    assert await following.knows(token)
    assert await _may_use_in_an_outage(region, following, token, STALE_TTL_MS // 1000)


def _await_an_announcement(replica, since_ms: int, now_ms) -> None:
    """Leaves each answer unsettled from now on, as if an announcement were late or lost."""
    changes = replica.records.changes

    async def unsettled(position):
        return structs.replace(await changes(position), unsettled_ms=now_ms() - since_ms)

    replica.records.changes = unsettled


@pytest.mark.parametrize(("seconds", "is_bridged"), [(1, True), (2, False)])
async def test_a_binding_bridges_an_outage_if_the_feed_confirmed_it_within_two_seconds_before(
    region, replica, following, seconds, is_bridged
):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, 3600)
    region.clock.advance(1000)
    now_ms = region.clock.monotonic_ms
    _await_an_announcement(following, now_ms(), now_ms)
    await _pass(region, following, seconds - 1)
    assert await _may_use_in_an_outage(region, following, token, CACHE_TTL_MS // 1000 - seconds - 1)
    assert await _may_use_in_an_outage(region, following, token, seconds + 1) == is_bridged


async def test_an_announcement_that_was_missing_at_a_gap_delays_no_confirmation(region, replica, following):
    await _lose_changes(region)
    now_ms = region.clock.monotonic_ms
    _await_an_announcement(following, now_ms(), now_ms)
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await _pass(region, following, 3600)
    assert await _may_use_in_an_outage(region, following, token, STALE_TTL_MS // 1000)


async def test_a_failed_poll_is_repeated_sooner(region, following):
    assert following.feed.pause_seconds == 1.0
    region.faults.fail = {"changes"}
    await following.feed.follow()
    assert following.feed.pause_seconds == 0.1
    region.faults.fail = set()
    await following.feed.follow()
    assert following.feed.pause_seconds == 1.0


async def _version(region, name: str) -> str | None:
    record = await region.memory.records.read(name)
    return None if record is None else record.version


@pytest.mark.parametrize("revoke", REVOCATIONS)
async def test_a_revoked_token_stays_revoked_in_an_outage(region, replica, following, revoke):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    await revoke(replica)
    await following.feed.follow()
    region.faults.fail = {"*"}
    with pytest.raises(AuthUnavailable):
        await following.knows(token)


@pytest.mark.virtual_time
async def test_a_change_of_unknown_outcome_forces_a_lookup_although_the_feed_answers(region, replica):
    token = await replica.create()
    await replica.knows(token)
    await _pass(region, replica, 2)
    replica.records.next_fate = lambda _: Fate.REQUEST_LOST
    with pytest.raises(Exception, match="lost"):
        await replica.rotate()
    replica.records.next_fate = lambda _: Fate.DONE
    await _pass(region, replica, 1)
    region.faults.calls.clear()
    assert await replica.knows(token)
    assert region.faults.count("read") == 1


async def test_a_token_tried_before_its_creation_works_after_the_next_poll(
    region, replica, following, monkeypatch
):
    token = await replica.create()
    await replica.directory.delete_table(SHOP, "sessions")
    assert not await following.knows(token)
    monkeypatch.setattr("gateway.directory.apps.directory.new_token", lambda: token)
    await replica.create()
    assert not await following.knows(token)
    await following.feed.follow()
    assert await following.knows(token)


async def test_a_replica_that_was_away_for_a_day_starts_a_new_epoch(region, replica, following):
    token = await replica.create()
    await following.feed.follow()
    await following.knows(token)
    gaps = following.feed.gaps
    region.clock.advance(HOURS_MS)
    await following.feed.follow()
    assert following.feed.gaps == gaps + 1


async def test_a_lookup_in_flight_when_the_feed_announces_a_change_is_not_cached(region, replica, following):
    token = await replica.create()
    following.records.release_reads.clear()
    lookup = asyncio.create_task(following.knows(token))
    await following.records.read_done.wait()
    await replica.rotate()
    await following.feed.follow()
    following.records.release_reads.set()
    await lookup
    assert not await following.knows(token)


@pytest.mark.parametrize("seed", range(8))
async def test_no_call_after_an_answer_of_the_feed_uses_an_old_binding(region, replica, seed):
    slow = region.replica(seed=seed)
    await slow.feed.follow()
    for _ in range(10):
        token = await replica.create("t")
        calls = [asyncio.create_task(slow.knows(token)) for _ in range(5)]
        await asyncio.sleep(0)
        await replica.directory.delete_table(SHOP, "t")
        calls += [asyncio.create_task(slow.knows(token)) for _ in range(5)]
        await slow.feed.follow()
        assert not await slow.knows(token)
        await asyncio.gather(*calls)
        assert not await slow.knows(token)


async def test_an_unknown_name_in_the_feed_does_no_harm(region, replica, following):
    for name in ("app/a", "app/a/b/c/d", "token/none", "token/", "else", ""):
        await region.memory.records.swap(f"{name}", b"1", None)
    token = await replica.create()
    await following.feed.follow()
    assert await following.knows(token)
    await _rotate(replica)
    await following.feed.follow()
    assert not await following.knows(token)
