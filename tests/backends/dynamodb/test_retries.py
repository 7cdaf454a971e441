"""Retries: which calls, how often, and which never."""

import asyncio
import json
from collections import Counter

import pytest

from backends.dynamodb import client, failures
from backends.errors import BackendUnavailable
from tests.backends.dynamodb.scripted import (
    COUNTED,
    EMPTY,
    READS,
    SHARDED,
    WRITES,
    page,
    store_on,
)
from tests.support.clock import FakeClock
from tests.support.dynamodb.answers import (
    CLOSED,
    GARBAGE,
    NOT_AN_OBJECT,
    NOT_JSON,
    PROXY_PAGE,
    RESET,
    SILENCE,
    Answer,
    answer,
    refusal,
)

pytestmark = pytest.mark.virtual_time

THROTTLING = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
PORTAL = Answer(b"<html>Please log in</html>", content_type="text/html")
LOST = {
    "500": lambda good: refusal("InternalServerError"),
    "503": lambda good: refusal("ServiceUnavailable"),
    "reset": lambda good: RESET,
    "closed": lambda good: CLOSED,
    "truncated": lambda good: good.truncated(),
    "reset in the middle": lambda good: good.reset_in_the_middle(),
    "stuck in the middle": lambda good: good.stuck_in_the_middle(),
    "silence": lambda good: SILENCE,
    "late": lambda good: good.late(1.5),
    "wrong checksum": lambda good: good.with_wrong_crc32(),
    "flipped bit": lambda good: good.with_a_flipped_bit(),
    "garbage": lambda good: GARBAGE,
    "not JSON": lambda good: NOT_JSON,
    "not an object": lambda good: NOT_AN_OBJECT,
    "a proxy's page": lambda good: PROXY_PAGE,
    "a portal's page": lambda good: PORTAL,
    "a redirection": lambda good: answer({}, status=307),
}
SLOW = ("stuck in the middle", "silence", "late")
GOOD = {
    "GetItem": EMPTY,
    "Query": page(),
    "PutItem": EMPTY,
    "DeleteItem": EMPTY,
    "UpdateItem": COUNTED,
    "BatchWriteItem": EMPTY,
    "TransactWriteItems": EMPTY,
}
CANCELLED = refusal(
    "TransactionCanceledException",
    CancellationReasons=[{"Code": "ConditionalCheckFailed"}, {"Code": "None"}],
)
IN_THE_WAY = refusal(
    "TransactionCanceledException",
    CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}],
)


@pytest.fixture(autouse=True)
def quick(monkeypatch, environment):
    """Pauses are asked for and not made; the bounds that were asked for are kept."""
    asked = []

    def shortest(low: float, high: float) -> float:
        asked.append((low, high))
        return low

    monkeypatch.setattr(client, "ATTEMPT_SECONDS", client.CALL_SECONDS)
    monkeypatch.setattr(client.random, "uniform", shortest)
    return asked


async def usual_calls(endpoint, store, name: str) -> int:
    """Calls of a successful read; a drop has one batch to delete."""
    if name == "drop":
        endpoint.script("Query", page("k"))
    endpoint.calls.clear()
    return 16 if name in SHARDED else 1


@pytest.mark.parametrize("name", [*READS, *WRITES])
async def test_any_throttled_action_is_retried(endpoint, name):
    operation, call = (READS | WRITES)[name]
    async with store_on(endpoint) as store:
        usual = await usual_calls(endpoint, store, name)
        endpoint.script(operation, *map(refusal, THROTTLING))
        await call(store)
        assert len(endpoint.of(operation)) == usual + len(THROTTLING)


@pytest.mark.parametrize("name", READS)
async def test_a_read_whose_answer_was_lost_is_repeated(endpoint, name, monkeypatch):
    monkeypatch.setattr(failures, "_MOST_SAVED", float(len(LOST)))
    operation, call = READS[name]
    async with store_on(endpoint) as store:
        for fault, spoiled in LOST.items():
            monkeypatch.setattr(client, "ATTEMPT_SECONDS", 0.5 if fault in SLOW else client.CALL_SECONDS)
            usual = await usual_calls(endpoint, store, name)
            endpoint.script(operation, spoiled(GOOD[operation]))
            await call(store)
            assert len(endpoint.of(operation)) == usual + 1, fault


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_whose_answer_was_lost_is_neither_repeated_nor_believed(endpoint, name, monkeypatch):
    operation, call = WRITES[name]
    async with store_on(endpoint) as store:
        for fault, spoiled in LOST.items():
            monkeypatch.setattr(client, "ATTEMPT_SECONDS", 0.5 if fault in SLOW else client.CALL_SECONDS)
            endpoint.calls.clear()
            endpoint.script(operation, spoiled(GOOD[operation]))
            with pytest.raises(BackendUnavailable):
                await call(store)
            assert len(endpoint.of(operation)) == 1, fault
            await call(store)


async def test_a_write_that_could_not_be_sent_is_repeated(endpoint, monkeypatch):
    monkeypatch.setattr(client.random, "uniform", lambda _, high: high)
    operation, put = WRITES["put"]
    async with store_on(endpoint) as store:
        await endpoint.__aexit__(None)
        await asyncio.sleep(0.05)  # the end of its connections has come by then
        call = asyncio.create_task(put(store))
        await asyncio.sleep(0.01)
        async with endpoint:
            await call
        assert len(endpoint.of(operation)) == 1


async def test_pauses_are_drawn_from_zero_to_twice_as_much_each_time(endpoint, quick):
    async with store_on(endpoint) as store:
        endpoint.script("PutItem", *[refusal(THROTTLING[0])] * 7)
        await WRITES["put"][1](store)
    assert quick == [(0, bound) for bound in (0.05, 0.1, 0.2, 0.4, 0.8, 0.8, 0.8)]


@pytest.mark.parametrize("name", [*READS, *WRITES])
async def test_repeats_add_a_tenth_and_the_ten_that_were_saved_at_first(endpoint, name):
    operation, call = (READS | WRITES)[name]
    if name in (*SHARDED, "drop"):
        operation = "Query"
    async with store_on(endpoint) as store:
        for _ in range(120):  # what is saved up has a bound
            await WRITES["put"][1](store)
        endpoint.calls.clear()
        endpoint.always(operation, refusal(THROTTLING[0]))
        for _ in range(100):
            with pytest.raises(BackendUnavailable, match="throttles"):
                await call(store)
        calls = 16 * 100 if name in SHARDED else 100
        all_calls = 3 * calls if name in ("swap", "remove") else calls  # a number is taken and given back
        assert calls + 9 <= len(endpoint.of(operation)) <= calls + 0.1 * all_calls + 10


async def test_the_breaker_opens_after_five_lost_answers_and_lets_one_call_a_second_try(endpoint):
    clock = FakeClock()
    put = WRITES["put"][1]

    async def twenty() -> Counter:
        outcomes = await asyncio.gather(*(put(store) for _ in range(20)), return_exceptions=True)
        return Counter(type(outcome) for outcome in outcomes)

    async with store_on(endpoint, clock) as store:
        endpoint.always("PutItem", RESET)
        for _ in range(5):
            with pytest.raises(BackendUnavailable, match="was lost"):
                await put(store)
        for second in range(1, 4):
            assert await twenty() == {BackendUnavailable: 20}
            assert len(endpoint.of("PutItem")) == 4 + second
            clock.advance(999)
            assert await twenty() == {BackendUnavailable: 20}
            assert len(endpoint.of("PutItem")) == 4 + second
            clock.advance(1)
        endpoint.always("PutItem", EMPTY)
        assert await twenty() == {type(None): 1, BackendUnavailable: 19}
        assert await twenty() == {type(None): 20}


async def test_a_condition_that_does_not_hold_is_an_answer_and_closes_the_breaker(endpoint):
    clock, swap = FakeClock(), WRITES["swap"][1]
    async with store_on(endpoint, clock) as store:
        endpoint.always("UpdateItem", RESET)
        for _ in range(5):
            with pytest.raises(BackendUnavailable):
                await swap(store)
        endpoint.always("UpdateItem", COUNTED)
        endpoint.always("TransactWriteItems", CANCELLED)
        clock.advance(1000)
        assert [await swap(store) for _ in range(3)] == [False, False, False]


@pytest.mark.parametrize("kind", [*THROTTLING, "AccessDeniedException", "ConditionalCheckFailedException"])
async def test_refusals_do_not_open_the_breaker(endpoint, kind):
    put = WRITES["put"][1]
    async with store_on(endpoint, FakeClock()) as store:
        endpoint.always("PutItem", refusal(kind))
        await asyncio.gather(*(put(store) for _ in range(20)), return_exceptions=True)
        assert len(endpoint.of("PutItem")) >= 20
        endpoint.always("PutItem", EMPTY)
        await put(store)


async def test_a_swap_that_is_too_late_gives_its_number_in_the_feed_back(endpoint):
    async with store_on(endpoint) as store:
        endpoint.script("TransactWriteItems", CANCELLED)
        assert await WRITES["swap"][1](store) is False
        assert [json.loads(call.body)["Item"]["m"] for call in endpoint.of("PutItem")] == [{"S": "-"}]


async def test_a_swap_that_another_one_was_in_the_way_of_is_repeated(endpoint):
    async with store_on(endpoint) as store:
        endpoint.script("TransactWriteItems", IN_THE_WAY, IN_THE_WAY)
        assert await WRITES["swap"][1](store) is True
        assert len(endpoint.of("TransactWriteItems")) == 3


async def test_mixed_faults_reach_few_readers_and_add_little_load(endpoint):
    """A fifth throttled, some failed, cut or damaged."""
    get = READS["get"][1]
    good = GOOD["GetItem"]
    async with store_on(endpoint) as store:
        endpoint.scatter(
            refusal(THROTTLING[0]),
            refusal("InternalServerError"),
            good.truncated(),
            good.with_wrong_crc32(),
            probability=0.08,
            seed=4,
        )
        outcomes = await asyncio.gather(*(_in_turn(get, store, 100) for _ in range(10)))
        assert sum(outcomes) <= 10
        assert len(endpoint.calls) <= 1.1 * 1000 + 10


async def _in_turn(call, store, times: int) -> int:
    """Number of failed calls."""
    failed = 0
    for _ in range(times):
        try:
            await call(store)
        except BackendUnavailable:
            failed += 1
    return failed
