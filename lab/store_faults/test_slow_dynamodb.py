"""A DynamoDB that answers some calls late, or all: calls end in time, and nobody else waits for them."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from lab.faults.fleet import Fleet
from lab.faults.watch import memory_of
from tests.backends.dynamodb.scripted import TABLE_NAME, prepared_endpoint
from tests.support.dynamodb import ENVIRONMENT, REGION, Ministack, ScriptedEndpoint
from tests.support.dynamodb.answers import SILENCE
from tests.support.evidence import note_fault
from tests.support.load import Load

TOTAL_SECONDS = 2.0
SLACK_SECONDS = 0.4
MEGABYTE = 1_000_000


def on(endpoint: ScriptedEndpoint) -> dict:
    store = {"kind": "dynamodb", "table": TABLE_NAME, "region": REGION, "create_table": True}
    return {"store": {**store, "endpoint_url": endpoint.endpoint_url}}


@asynccontextmanager
async def slow_engine(folder):
    with Ministack() as engine:
        async with ScriptedEndpoint(engine.endpoint_url) as endpoint:
            async with Fleet(folder, [on(endpoint)], ENVIRONMENT) as fleet:
                yield endpoint, fleet
            endpoint.scatter(probability=0, seed=0)


@pytest.mark.heavy
async def test_if_one_call_in_twenty_is_never_answered_the_others_continue(tmp_path):
    async with slow_engine(tmp_path) as (endpoint, fleet):
        async with Load(fleet.gateways, clients=60, per_second=100) as load:
            await asyncio.sleep(3)
            usual = median(load)
            endpoint.scatter(SILENCE, probability=0.05, seed=1)
            note_fault("calls that are never answered", 1)
            load.answers.clear()
            await asyncio.sleep(12)
            endpoint.scatter(probability=0, seed=0)
            await asyncio.sleep(3)
        await load.check_all()
    assert load.lies == []
    assert {answer.status for answer in load.answers} <= {200, 503}
    held_up = load.held_up + fleet.watch.lag
    assert max(answer.seconds for answer in load.answers) < TOTAL_SECONDS * 2 + SLACK_SECONDS + held_up
    assert median(load) < 3 * usual + held_up
    assert sum(answer.status == 200 for answer in load.answers) > 0.5 * len(load.answers)


def median(load: Load) -> float:
    seconds = sorted(answer.seconds for answer in load.answers if answer.status == 200)
    return seconds[len(seconds) // 2]


async def test_if_no_call_is_answered_calls_end_in_time_and_cost_no_memory(tmp_path):
    async with prepared_endpoint() as endpoint, Fleet(tmp_path, [on(endpoint)], ENVIRONMENT) as fleet:
        before = memory_of(fleet.processes[0])
        async with Load(fleet.gateways, clients=100, per_second=200) as load:
            endpoint.always("UpdateItem", SILENCE)
            endpoint.always("GetItem", SILENCE)
            note_fault("DynamoDB silent")
            await asyncio.sleep(4)
            grown = memory_of(fleet.processes[0]) - before
        held_up = load.held_up + fleet.watch.own_lag
    assert {(answer.status, answer.code) for answer in load.answers[200:]} == {(503, "quota_unavailable")}
    assert max(each.seconds for each in load.answers) < TOTAL_SECONDS + SLACK_SECONDS + held_up
    assert median_of_refused(load) < 0.05 + held_up
    assert grown < 50 * MEGABYTE
    assert fleet.watch.lag < 0.3 + held_up


def median_of_refused(load: Load) -> float:
    """Most are refused without asking: the store is left alone for a moment."""
    seconds = sorted(answer.seconds for answer in load.answers if answer.status == 503)
    return seconds[len(seconds) // 2]
