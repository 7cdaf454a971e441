"""Replicas whose clocks are apart share the time of DynamoDB, which they take from its responses."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from email.utils import formatdate
from itertools import pairwise
from random import Random

import pytest

from backends import DynamoSettings, open_backend
from backends.dynamodb.store_time import StoreTime
from backends.errors import BackendUnavailable
from tests.backends.dynamodb.scripted import KEY, TABLE_NAME, prepared_endpoint
from tests.support.clock import YEAR_2100_MS, FakeClock
from tests.support.dynamodb import REGION, Ministack, ScriptedEndpoint
from tests.support.stores import first_answer

pytestmark = pytest.mark.usefixtures("engine_credentials")

WINDOW_MS = 60_000
APART_SECONDS = (0, 5, 30, 61, 3_600)
LIMIT = 20
BOUND_MS = 1_000
"""Tolerance of a window around 60 s: two replicas are off by half a second each,
if each has seen a single response."""


def _date(ms):
    return formatdate(ms // 1000, usegmt=True)


class Region:
    """DynamoDB's clock, and that of each replica: they are apart, and run alike."""

    def __init__(self):
        self.server = FakeClock(YEAR_2100_MS)
        self.replicas = [FakeClock(self.server.wall_ms() + 1000 * apart) for apart in APART_SECONDS]

    def advance(self, ms):
        for clock in (self.server, *self.replicas):
            clock.advance(ms)


async def _opened(stack, endpoint_url, table, clock, **settings):
    chosen = DynamoSettings(table=table, region=REGION, endpoint_url=endpoint_url, **settings)
    store = await open_backend(chosen, clock)
    stack.push_async_callback(store.close)
    await first_answer(store)
    return store


@pytest.mark.parametrize("engine", [Ministack], indirect=True)
async def test_replicas_with_clocks_an_hour_apart_admit_exactly_the_limit_in_each_window(engine, table_name):
    region, admitted_at = Region(), []
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(ScriptedEndpoint(engine.endpoint_url, region.server.wall_ms))
        stores = []
        for clock in region.replicas:  # each has seen its one response at another part of a second
            stores.append(await _opened(stack, front.endpoint_url, table_name, clock, create_table=True))
            region.advance(170)
        began_ms = region.server.wall_ms()
        for after_ms in (*range(0, 4_000, 500), *range(57_000, 64_000, 250), *range(117_000, 126_000, 250)):
            region.advance(began_ms + after_ms - region.server.wall_ms())
            charges = await asyncio.gather(
                *(store.counters.charge("b", LIMIT, WINDOW_MS) for store in stores)
            )
            admitted_at += [region.server.wall_ms()] * sum(charge.admitted for charge in charges)
            assert all(1 <= charge.closes_in_ms <= WINDOW_MS for charge in charges)
    assert len(admitted_at) == 3 * LIMIT
    opened_at = admitted_at[::LIMIT]
    assert all(
        last < first + WINDOW_MS
        for first, last in zip(opened_at, admitted_at[LIMIT - 1 :: LIMIT], strict=True)
    )
    for earlier, later in pairwise(opened_at):
        assert abs(later - earlier - WINDOW_MS) <= BOUND_MS + 250


@pytest.mark.parametrize("apart_seconds", APART_SECONDS)
async def test_requests_are_signed_at_dynamodbs_time(apart_seconds):
    server = FakeClock()
    clock = FakeClock(server.wall_ms() - 1000 * apart_seconds)
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(prepared_endpoint(wall_ms=server.wall_ms))
        store = await _opened(stack, endpoint.endpoint_url, TABLE_NAME, clock)
        await store.ping()
        assert store.clock_lead_seconds == pytest.approx(-apart_seconds, abs=0.5)
        signed = endpoint.calls[-1].headers["x-amz-date"]
    assert signed[:13] == f"{datetime.fromtimestamp(server.wall_ms() / 1000, UTC):%Y%m%dT%H%M}"


async def test_without_the_time_of_dynamodb_no_charge_is_sent():
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(prepared_endpoint(wall_ms=None))
        store = await _opened(stack, endpoint.endpoint_url, TABLE_NAME, FakeClock())
        endpoint.calls.clear()
        with pytest.raises(BackendUnavailable, match="DynamoDB's time is unknown"):
            await store.counters.charge(KEY, 5, WINDOW_MS)
        assert endpoint.calls == []
        assert store.clock_lead_seconds is None


async def test_a_charge_asks_for_no_time_of_its_own():
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(prepared_endpoint())
        store = await _opened(stack, endpoint.endpoint_url, TABLE_NAME, FakeClock())
        endpoint.calls.clear()
        await store.counters.charge(KEY, 5, WINDOW_MS)
        assert [call.operation for call in endpoint.calls] == ["UpdateItem"]


def test_the_first_response_gives_the_time_to_half_a_second_and_half_its_round_trip():
    for fraction_ms in range(0, 1000, 50):
        clock = FakeClock(1_795_132_800_000 + fraction_ms)
        time = StoreTime(clock)
        asked_ms, now_ms = clock.monotonic_ms(), clock.wall_ms()
        clock.advance(80)
        time.note(_date(now_ms), asked_ms)
        assert abs(time.now_ms() - clock.wall_ms()) <= 540
        assert time.uncertainty_ms == 1_080


@pytest.mark.parametrize("seed", range(20))
def test_responses_at_any_times_tell_it_to_little_more_than_their_round_trip(seed):
    """For any responses the error is at most half the distance between the bounds."""
    dice, clock = Random(seed), FakeClock()
    time = StoreTime(clock)
    for _ in range(200):
        clock.advance(dice.randrange(2_000))
        asked_ms = clock.monotonic_ms()
        clock.advance(dice.randrange(10))
        date = _date(clock.wall_ms())
        clock.advance(dice.randrange(10))
        time.note(date, asked_ms)
        assert abs(time.now_ms() - clock.wall_ms()) <= time.uncertainty_ms / 2 + 1
    assert time.uncertainty_ms < 200


def test_a_clock_that_was_set_at_dynamodb_is_followed_at_the_next_response():
    clock = FakeClock()
    time = StoreTime(clock)
    for jump_ms in (0, 3_600_000, -7_200_000):
        clock.jump_wall(jump_ms)
        time.note(_date(clock.wall_ms()), clock.monotonic_ms())
        assert abs(time.now_ms() - clock.wall_ms()) <= 500


def test_a_replicas_own_wall_clock_may_be_set_and_changes_nothing():
    clock = FakeClock()
    time = StoreTime(clock)
    time.note(_date(clock.wall_ms()), clock.monotonic_ms())
    before_ms = time.now_ms()
    clock.jump_wall(3_600_000)
    assert time.now_ms() == before_ms


def test_a_time_that_nothing_has_confirmed_for_a_minute_is_not_known():
    clock = FakeClock()
    time = StoreTime(clock)
    time.note(_date(clock.wall_ms()), clock.monotonic_ms())
    clock.advance(60_000)
    assert time.now_ms()
    clock.advance(1)
    with pytest.raises(BackendUnavailable):
        time.now_ms()
    assert time.best_ms() == clock.wall_ms()


@pytest.mark.parametrize(
    "date", [None, "", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT", "9" * 10_000, "\x00"]
)
def test_a_malformed_date_is_ignored(date):
    time = StoreTime(FakeClock())
    time.note(date, 0)
    with pytest.raises(BackendUnavailable):
        time.now_ms()
