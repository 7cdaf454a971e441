"""Windows in DynamoDB are exact over replicas, whatever their clocks and the engine do."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from backends.clock import SystemClock
from backends.dynamodb import counters
from backends.errors import BackendUnavailable, CorruptEntry
from backends.interface import Charge
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.backends.dynamodb.scripted import COUNTED, prepared_endpoint, store_on
from tests.support.clock import FakeClock
from tests.support.dynamodb import DynamoDbLocal, Ministack, ScriptedEndpoint
from tests.support.dynamodb.answers import answer, refusal
from tests.support.dynamodb.endpoint import pass_on
from tests.support.stopwatch import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("engine_credentials")

WINDOW_MS = 60_000
HOUR_MS = 3_600_000
NOW_MS = SystemClock().wall_ms()
KEY = {"pk": {"S": "w#b"}, "sk": {"S": "w"}}


@pytest.fixture
def clock():
    """Engines collect what has fallen due by their own clock."""
    return FakeClock(NOW_MS)


@pytest.fixture
async def open_replica(engine, table_name):
    async with AsyncExitStack() as opened:

        async def open_one(clock) -> object:
            here = opened_dynamodb(engine.endpoint_url, table_name, clock)
            return await opened.enter_async_context(here)

        yield open_one


def window(engine, table_name: str) -> dict | None:
    return engine.observer.get_item(table_name, KEY)


async def admitted(charges) -> int:
    return sum([charge.admitted for charge in await asyncio.gather(*charges)])


@pytest.mark.parametrize("replicas", [4])
async def test_concurrent_charges_are_admitted_exactly_up_to_the_limit(open_replica, clock, replicas):
    stores = [await open_replica(clock) for _ in range(replicas)]
    for limit in (1, 17):
        calls = [(store, number) for store in stores for number in range(80 // replicas)]
        charges = [store.counters.charge(f"bucket of {limit}", limit, WINDOW_MS) for store, _ in calls]
        assert await admitted(charges) == limit


async def test_several_windows_in_a_row_are_all_exact(open_replica, clock):
    stores = [await open_replica(clock) for _ in range(2)]
    for _ in range(4):
        charges = [store.counters.charge("b", 9, WINDOW_MS) for store in stores for _ in range(15)]
        assert await admitted(charges) == 9
        clock.advance(WINDOW_MS)


async def test_a_window_is_one_item_that_is_collected_an_hour_after_its_end(
    open_replica, clock, engine, table_name
):
    store = await open_replica(clock)
    closes_at_ms = clock.wall_ms() + WINDOW_MS
    for count in (1, 2, 2):
        await store.counters.charge("b", 2, WINDOW_MS)
        collected = -(-(closes_at_ms + HOUR_MS) // 1000)
        assert window(engine, table_name) == {
            **KEY,
            "n": {"N": str(count)},
            "c": {"N": str(closes_at_ms)},
            "t": {"N": str(collected)},
        }
        clock.advance(100)


async def test_a_window_lasts_to_the_millisecond(open_replica, clock):
    store = await open_replica(clock)
    assert await store.counters.charge("b", 1, WINDOW_MS) == Charge(admitted=True, closes_in_ms=WINDOW_MS)
    clock.advance(WINDOW_MS - 1)
    assert await store.counters.charge("b", 1, WINDOW_MS) == Charge(admitted=False, closes_in_ms=1)
    clock.advance(1)
    assert await store.counters.charge("b", 1, WINDOW_MS) == Charge(admitted=True, closes_in_ms=WINDOW_MS)


async def test_a_limit_changed_within_a_window_applies_immediately(open_replica, clock, engine, table_name):
    store = await open_replica(clock)
    limits = [3, 3, 3, 3, 5, 5, 5, 2, 2, 6, 6]
    seen = [(await store.counters.charge("b", limit, WINDOW_MS)).admitted for limit in limits]
    assert seen == [True, True, True, False, True, True, False, False, False, True, False]
    assert window(engine, table_name)["n"] == {"N": "6"}


@pytest.mark.parametrize("ahead_ms", [5_000, 30_000])
async def test_clocks_that_differ_by_seconds_admit_the_limit_in_each_window(
    open_replica, clock, ahead_ms, engine, table_name
):
    early = FakeClock(clock.wall_ms() + ahead_ms)
    stores = [await open_replica(clock), await open_replica(early)]
    for _ in range(3):
        charges = [store.counters.charge("b", 10, WINDOW_MS) for _ in range(12) for store in stores]
        outcomes = await asyncio.gather(*charges)
        assert sum(charge.admitted for charge in outcomes) == 10
        assert all(0 < charge.closes_in_ms <= WINDOW_MS for charge in outcomes)
        until_it_closes_ms = int(window(engine, table_name)["c"]["N"]) - clock.wall_ms()
        for each in (clock, early):
            each.advance(until_it_closes_ms)


@pytest.mark.parametrize("far_ms", [2 * WINDOW_MS + 1, HOUR_MS, 10 * 365 * 24 * HOUR_MS])
async def test_a_window_closed_far_in_the_future_by_a_wrong_clock_is_reopened(
    open_replica, clock, engine, table_name, far_ms
):
    wrong, right = FakeClock(clock.wall_ms() + far_ms - WINDOW_MS), clock
    one, other = await open_replica(wrong), await open_replica(right)
    assert [(await one.counters.charge("b", 1, WINDOW_MS)).admitted for _ in range(2)] == [True, False]
    assert await other.counters.charge("b", 1, WINDOW_MS) == Charge(admitted=True, closes_in_ms=WINDOW_MS)
    assert not (await other.counters.charge("b", 1, WINDOW_MS)).admitted
    assert window(engine, table_name)["c"] == {"N": str(right.wall_ms() + WINDOW_MS)}


async def test_a_shorter_window_than_before_is_not_held_up_by_the_longer_one(open_replica, clock):
    store = await open_replica(clock)
    await store.counters.charge("b", 1, HOUR_MS)
    assert (await store.counters.charge("b", 1, WINDOW_MS)).closes_in_ms == WINDOW_MS


@pytest.mark.parametrize(
    "foreign",
    [
        {"n": {"S": "1"}, "c": {"N": "1"}},
        {"n": {"N": "1"}},
        {"n": {"N": "1"}, "c": {"S": "1"}},
        {"n": {"B": b"1"}, "c": {"N": str(NOW_MS)}},
        {"n": {"S": "1"}, "c": {"N": str(NOW_MS + WINDOW_MS)}},
        {"c": {"N": str(NOW_MS)}},
        {"n": {"N": "1"}, "c": {"N": "1.5"}},
    ],
    ids=lambda foreign: str(foreign).replace(str(NOW_MS), "now").replace(str(NOW_MS + WINDOW_MS), "later"),
)
@pytest.mark.parametrize("engine", [Ministack, DynamoDbLocal], indirect=True)  # moto compares no types
async def test_a_foreign_item_is_not_read_as_a_counter(open_replica, engine, table_name, foreign):
    store = await open_replica(FakeClock(NOW_MS))
    engine.observer.client.put_item(TableName=table_name, Item={**KEY, **foreign})
    for _ in range(2):
        with pytest.raises(CorruptEntry):
            await store.counters.charge("b", 5, WINDOW_MS)
    assert window(engine, table_name) == {**KEY, **foreign}
    engine.observer.client.delete_item(TableName=table_name, Key=KEY)
    assert (await store.counters.charge("b", 5, WINDOW_MS)).admitted


async def test_a_charge_that_loses_the_race_for_a_new_window_is_counted_in_it(engine, table_name, clock):
    """All have seen that there is no window before the first one opens it."""
    looked = asyncio.Barrier(6)

    async def after_all_have_looked(call, forward):
        if ":closes" in call.payload["ExpressionAttributeValues"]:
            await looked.wait()
        return await pass_on(call, forward)

    async with (
        ScriptedEndpoint(engine.endpoint_url) as front,
        opened_dynamodb(front.endpoint_url, table_name, clock) as store,
    ):
        for _ in range(2):
            front.calls.clear()
            front.script("UpdateItem", *[after_all_have_looked] * 12)
            charges = [store.counters.charge("b", 4, WINDOW_MS) for _ in range(6)]
            assert await admitted(charges) == 4
            assert len(front.of("UpdateItem")) == 17
            assert window(engine, table_name)["n"] == {"N": "4"}
            clock.advance(WINDOW_MS)


async def test_a_window_that_keeps_changing_is_given_up():
    async with prepared_endpoint() as endpoint, store_on(endpoint, FakeClock()) as store:
        changed = refusal("ConditionalCheckFailedException", Item={"n": {"N": "1"}, "c": {"N": "1"}})
        endpoint.always("UpdateItem", changed)
        with pytest.raises(BackendUnavailable, match="keeps changing"):
            await store.counters.charge("b", 5, WINDOW_MS)
        assert len(endpoint.calls) == 2 * counters._MOST_RACES


async def test_a_decision_is_one_write_and_the_first_of_a_window_one_more(engine, table_name, clock):
    async with (
        ScriptedEndpoint(engine.endpoint_url) as front,
        opened_dynamodb(front.endpoint_url, table_name, clock) as store,
    ):
        writes = []
        for _ in range(4):
            front.calls.clear()
            await store.counters.charge("b", 2, WINDOW_MS)
            writes.append([call.operation for call in front.calls])
        assert writes == [["UpdateItem"] * 2, ["UpdateItem"], ["UpdateItem"], ["UpdateItem"]]


async def test_a_throttled_charge_is_counted_once():
    async with prepared_endpoint() as endpoint, store_on(endpoint, FakeClock()) as store:
        endpoint.script("UpdateItem", refusal("ThrottlingException"), COUNTED)
        assert (await store.counters.charge("b", 5, WINDOW_MS)).admitted
        assert len(endpoint.calls) == 2


@pytest.mark.parametrize(
    "attributes",
    [{}, {"n": {"N": "1"}}, {"n": {"S": "1"}, "c": {"N": "1"}}, {"c": {"N": "x"}, "n": {"N": "1"}}],
)
async def test_an_answer_that_makes_no_sense_is_no_admission(attributes):
    async with prepared_endpoint() as endpoint, store_on(endpoint, FakeClock()) as store:
        endpoint.always("UpdateItem", answer({"Attributes": attributes}))
        with pytest.raises(CorruptEntry):
            await store.counters.charge("b", 5, WINDOW_MS)


PROGRAM = """
import asyncio, json, sys
from backends import open_backend
from backends.clock import SystemClock
from backends.errors import BackendError
from backends import DynamoSettings

async def main(endpoint_url, table):
    store = await open_backend(
        DynamoSettings(table=table, region="eu-central-1", endpoint_url=endpoint_url), SystemClock()
    )
    while True:
        try:
            await store.ping()
            break
        except BackendError:
            await asyncio.sleep(0.02)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    admitted = failed = 0
    async def some():
        nonlocal admitted, failed
        for _ in range(40):
            try:
                charge = await store.counters.charge("b", 200, 60_000)
            except BackendError:
                failed += 1
            else:
                admitted += charge.admitted
    await asyncio.gather(*(some() for _ in range(4)))
    await store.close()
    print(json.dumps([admitted, failed]), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def charge_in_processes(engine, table_name: str) -> list[list[int]]:
    """Admitted charges and failures of three processes that start together."""
    command = [sys.executable, "-c", PROGRAM, engine.endpoint_url, table_name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    assert {process.stdout.readline() for process in processes} == {"ready\n"}
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return [json.loads(process.communicate(timeout=PATIENCE_SECONDS)[0]) for process in processes]


@pytest.mark.parametrize("engine", [Ministack], indirect=True)
async def test_processes_with_clocks_of_their_own_admit_the_limit(engine, table_name):
    async with opened_dynamodb(engine.endpoint_url, table_name):
        outcomes = await asyncio.to_thread(charge_in_processes, engine, table_name)
    admitted_in_all, failed = (sum(column) for column in zip(*outcomes, strict=True))
    assert 200 - failed <= admitted_in_all <= 200
    assert failed < 48
