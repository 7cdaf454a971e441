"""Requests beside the data plane run in turns: short pieces, one between two turns of the loop."""

import asyncio
from contextlib import suppress

import pytest

from gateway.http.turns import MAX_REQUESTS, MAX_STEPS, Turns
from tests.support.gateway import run_gateway
from tests.support.wire import until

LISTERS = 32
LOOP_MAKES_NO_DIFFERENCE = True


class Work:
    """Counts the steps that all its coroutines have done."""

    def __init__(self, clock, *, step_ms: int) -> None:
        self.steps = 0
        self._clock = clock
        self._step_ms = step_ms

    async def run(self, steps: int) -> None:
        for _ in range(steps):
            self.steps += 1
            self._clock.advance(self._step_ms)
            await asyncio.sleep(0)


async def most_steps_per_turn(work: Work, tasks: list[asyncio.Task[None]]) -> int:
    """Returns the largest number of steps done while this task, like a call, waited for its turn."""
    most, before = 0, work.steps
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        most, before = max(most, work.steps - before), work.steps
    await asyncio.gather(*tasks)
    return most


def never_busy() -> bool:
    return False


@pytest.mark.parametrize(("step_ms", "steps_of_a_piece"), [(1, 1), (0, MAX_STEPS)])
@pytest.mark.parametrize("clients", [1, LISTERS])
async def test_one_piece_runs_between_two_turns_of_a_call(clock, clients, step_ms, steps_of_a_piece):
    lane = Turns(clock.monotonic_ms, never_busy).lane()
    work = Work(clock, step_ms=step_ms)
    tasks = [asyncio.create_task(as_task(lane.run(work.run(3 * MAX_STEPS)))) for _ in range(clients)]
    assert await most_steps_per_turn(work, tasks) == steps_of_a_piece
    assert work.steps == clients * 3 * MAX_STEPS


async def as_task(paced) -> None:
    await paced


@pytest.mark.parametrize(("is_busy", "least_seconds"), [(True, 4 * 0.018), (False, 0)])
@pytest.mark.virtual_time
async def test_the_data_plane_keeps_nine_tenths_of_the_loop_while_it_is_busy(clock, is_busy, least_seconds):
    lane = Turns(clock.monotonic_ms, lambda: is_busy).lane()
    began = asyncio.get_running_loop().time()
    await lane.run(Work(clock, step_ms=2).run(5))
    taken = asyncio.get_running_loop().time() - began
    assert least_seconds <= taken <= 2 * least_seconds


@pytest.mark.virtual_time
async def test_a_pause_ends_with_the_last_call(clock):
    calls = {"a call"}
    lane = Turns(clock.monotonic_ms, lambda: bool(calls)).lane()
    loop = asyncio.get_running_loop()
    loop.call_later(0.005, calls.clear)
    began = loop.time()
    await lane.run(Work(clock, step_ms=10).run(3))
    assert 0.005 <= loop.time() - began < 0.01


@pytest.mark.virtual_time
async def test_a_process_that_was_stopped_within_a_piece_pauses_for_a_moment_only(clock):
    lane = Turns(clock.monotonic_ms, lambda: True).lane()
    began = asyncio.get_running_loop().time()
    await lane.run(Work(clock, step_ms=3_600_000).run(2))
    assert asyncio.get_running_loop().time() - began < 1


async def test_lanes_alternate(clock):
    turns = Turns(clock.monotonic_ms, never_busy)
    listings, probes = turns.lane(), turns.lane()
    done: list[str] = []

    async def note(name: str) -> None:
        done.append(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(as_task(listings.run(note("listing"))))
        group.create_task(as_task(probes.run(note("probe"))))
    assert "probe" in done[:3]


@pytest.mark.parametrize("passed_on", [False, True])
async def test_a_cancelled_request_leaves_its_turn_to_the_next(clock, passed_on):
    turns = Turns(clock.monotonic_ms, never_busy)
    lane, work = turns.lane(), Work(clock, step_ms=1)
    turns.is_free = False
    first, second = (asyncio.create_task(as_task(lane.run(work.run(1)))) for _ in range(2))
    await asyncio.sleep(0)
    if passed_on:
        turns.pass_on()
    first.cancel()
    if not passed_on:
        turns.pass_on()
    await second
    with suppress(asyncio.CancelledError):
        await first
    assert (first.cancelled(), work.steps) == (True, 1)
    await asyncio.sleep(0)
    assert turns.is_free


async def test_a_cancellation_reaches_the_handler_without_a_turn(clock):
    turns = Turns(clock.monotonic_ms, never_busy)
    seen: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.create_task(as_task(turns.lane().run(wait())))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    turns.is_free = False
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_results_exceptions_and_deadlines_are_those_of_the_handler(clock):
    lane = Turns(clock.monotonic_ms, never_busy).lane()

    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    async def fail() -> None:
        raise KeyError

    async def be_late() -> None:
        async with asyncio.timeout(0):
            await asyncio.get_running_loop().create_future()

    assert await lane.run(answer()) == 7
    with pytest.raises(KeyError):
        await lane.run(fail())
    with pytest.raises(TimeoutError):
        await lane.run(be_late())


CREDENTIALS = {"listen": {"credentials": {"host": "127.0.0.1", "port": 0}}}


async def test_every_listener_but_the_data_listener_waits_for_its_turn():
    async with run_gateway(CREDENTIALS) as gateway:
        gateway.app.turns.is_free = False
        asked = [
            asyncio.create_task(each)
            for each in (
                gateway.manage("GET", "/v1/orgs"),
                gateway.manage("GET", "/console/"),
                gateway.fetch("GET", "/v1/credentials/container"),
                gateway.ask_ops("/metrics"),
                gateway.ask_ops("/readyz"),
            )
        ]
        assert (await gateway.put("k", 1)).status == 200
        assert (await gateway.get("k")).status == 200
        assert not any(each.done() for each in asked)
        gateway.app.turns.pass_on()
        assert [each.status for each in await asyncio.gather(*asked)] == [200, 200, 401, 200, 200]


async def test_more_requests_than_are_served_concurrently_are_overloaded():
    path = "/v1/orgs/acme/apps/none?env=production"
    async with run_gateway() as gateway:
        gate = gateway.faults.gate = asyncio.Event()
        asked = [asyncio.create_task(gateway.manage("GET", path)) for _ in range(MAX_REQUESTS)]
        await until(lambda: gateway.faults.calls.count(("read", "app/acme/none/production")) == MAX_REQUESTS)
        refused = await gateway.manage("GET", path)
        assert (refused.status, refused.error) == (503, "overloaded")
        assert "Retry-After" in refused.headers
        assert (await gateway.ask_ops("/livez")).status == 200
        assert (await gateway.ask_ops("/metrics")).status == 200
        gate.set()
        assert {each.status for each in await asyncio.gather(*asked)} == {404}
        assert (await gateway.manage("GET", path)).status == 404
