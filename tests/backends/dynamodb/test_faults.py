"""Refusals of DynamoDB, resources after closing, and secrets that no log may hold."""

import asyncio
import gc
import logging

import pytest

from backends.breaker import FAILURES_TO_OPEN
from backends.clock import SystemClock
from backends.dynamodb import client, transport
from backends.dynamodb.transport import LARGEST_REPLY_BYTES
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable
from tests.backends.dynamodb.conformance import opened_dynamodb
from tests.backends.dynamodb.scripted import (
    KEY,
    READS,
    SHARDED,
    VALUE,
    WRITES,
    prepared_endpoint,
    store_on,
    unprepared_store,
)
from tests.support.dynamodb import Ministack
from tests.support.dynamodb.answers import RESET, SILENCE, Answer, refusal
from tests.support.dynamodb.endpoint import ScriptedEndpoint, after_it_was_applied
from tests.support.dynamodb.observer import SECRET_ACCESS_KEY

pytestmark = pytest.mark.virtual_time

MISCONFIGURED = {
    "AccessDeniedException": "the role lacks permission",
    "IncompleteSignatureException": "the signature was refused",
    "InvalidSignatureException": "wrong secret or wrong clock",
    "MissingAuthenticationTokenException": "the signature was refused",
    "ResourceNotFoundException": "the table does not exist",
    "UnrecognizedClientException": "the credentials are unknown",
    "ValidationException": "DynamoDB refuses the call",
    "SomethingNewException": "DynamoDB refuses the call",
}
ALL = READS | WRITES


@pytest.fixture
async def endpoint(environment):
    async with prepared_endpoint() as endpoint:
        yield endpoint


@pytest.mark.parametrize("name", ALL)
async def test_misconfigurations_are_reported_as_such_and_not_retried(endpoint, name):
    operation, call = ALL[name]
    if name in (*SHARDED, "drop"):
        operation = "Query"
    async with store_on(endpoint) as store:
        for kind, reason in MISCONFIGURED.items():
            endpoint.calls.clear()
            endpoint.always(operation, refusal(kind, message=f"not {KEY} with {SECRET_ACCESS_KEY}"))
            with pytest.raises(BackendMisconfigured, match=reason) as raised:
                await call(store)
            assert str(raised.value).endswith(f"({kind})")
            assert len(endpoint.of(operation)) == (16 if name in SHARDED else 1)


async def test_a_malformed_error_name_is_not_quoted(endpoint):
    async with store_on(endpoint) as store:
        endpoint.always("PutItem", refusal(f"{KEY} {SECRET_ACCESS_KEY}"))
        with pytest.raises(BackendUnavailable, match="does not speak the protocol of DynamoDB") as raised:
            await WRITES["put"][1](store)
        assert KEY not in str(raised.value)


async def test_a_namespace_is_not_needed_to_know_an_error(endpoint):
    async with store_on(endpoint) as store:
        body = b'{"__type":"AccessDeniedException"}'
        endpoint.always("PutItem", Answer(body, 400))
        with pytest.raises(BackendMisconfigured, match="AccessDenied"):
            await WRITES["put"][1](store)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in chunks"])
async def test_a_response_beyond_any_of_dynamodbs_is_not_taken_in(endpoint, name, is_announced):
    body = b"{" + b" " * LARGEST_REPLY_BYTES + b"}"
    if is_announced:
        huge = Answer(body)
    else:
        head = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
        huge = Answer(head + b"%x\r\n" % len(body) + body, raw=True)
    operation, call = ALL[name]
    async with store_on(endpoint) as store:
        for each in {operation, "Query"} if name in (*SHARDED, "drop") else {operation}:
            endpoint.always(each, huge)
        with pytest.raises(BackendUnavailable, match="larger than any that DynamoDB sends"):
            await call(store)


async def test_a_response_that_is_too_large_is_not_asked_for_again_and_opens_no_breaker(
    endpoint, monkeypatch
):
    """A foreign item suffices, and says nothing about other calls."""
    monkeypatch.setattr(transport, "LARGEST_REPLY_BYTES", 1000)
    async with store_on(endpoint) as store:
        endpoint.always("GetItem", Answer(b"{" + b" " * 1000 + b"}"))
        endpoint.calls.clear()
        for _ in range(2 * FAILURES_TO_OPEN):
            with pytest.raises(BackendUnavailable, match="larger than any"):
                await READS["get"][1](store)
        assert len(endpoint.of("GetItem")) == 2 * FAILURES_TO_OPEN
        await WRITES["put"][1](store)


async def test_a_response_of_nothing_but_brackets_is_an_ordinary_failure(endpoint):
    async with store_on(endpoint) as store:
        endpoint.always("GetItem", Answer(b'{"Item":' + b"[" * 1_000_000))
        with pytest.raises(BackendUnavailable, match="does not speak the protocol"):
            await READS["get"][1](store)


@pytest.fixture(scope="module")
def ministack():
    return Ministack.shared()


async def test_a_charge_that_was_counted_without_an_answer_is_counted_once_and_not_admitted(
    environment, ministack
):
    def lost(good: Answer) -> Answer:
        return good.truncated()

    def late(good: Answer) -> Answer:
        return good.late(3600)

    def cut(_: Answer) -> Answer:
        return RESET

    async with (
        ScriptedEndpoint(ministack.endpoint_url) as endpoint,
        opened_dynamodb(endpoint.endpoint_url, "kvs-charges", SystemClock()) as store,
    ):
        assert (await store.counters.charge("b", 5, 60_000)).admitted
        endpoint.calls.clear()
        for spoil in (lost, late, cut):
            endpoint.script("UpdateItem", after_it_was_applied(spoil))
            with pytest.raises(BackendUnavailable):
                await store.counters.charge("b", 5, 60_000)
        assert len(endpoint.of("UpdateItem")) == 3
        charges = [await store.counters.charge("b", 5, 60_000) for _ in range(3)]
        assert [charge.admitted for charge in charges] == [True, False, False]


async def test_calls_in_flight_and_after_the_end_fail_as_calls_of_a_store_do(endpoint):
    async with store_on(endpoint) as store:
        for operation in ("GetItem", "PutItem", "UpdateItem", "Query", "DeleteItem"):
            endpoint.always(operation, SILENCE)
        calls = [asyncio.create_task(_fault_of(call(store))) for _, call in ALL.values()]
        await asyncio.sleep(0.05)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await store.close()
        await store.close()
        faults = await asyncio.gather(*calls)
        assert loop.time() - started < 2.2
        faults += [await _fault_of(call(store)) for _, call in ALL.values()]
        assert all(isinstance(fault, BackendError) for fault in faults), faults


async def _fault_of(call) -> BaseException | None:
    try:
        await call
    except BaseException as fault:
        return fault
    return None


@pytest.mark.parametrize("moment", [0, 0.001, 0.03, 0.3])
@pytest.mark.parametrize("step", [SILENCE, RESET, None])
async def test_closing_at_any_moment_leaves_nothing_running(environment, caplog, step, moment):
    before = asyncio.all_tasks()
    async with prepared_endpoint() as endpoint:
        if step is not None:
            endpoint.always("DescribeTable", step)
        async with unprepared_store(endpoint.endpoint_url):
            await asyncio.sleep(moment)
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() - before if "ScriptedEndpoint" not in repr(task)]
        assert left == []
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


async def test_faults_leave_no_secret_in_logs_and_exceptions(endpoint, monkeypatch, caplog):
    monkeypatch.setattr(client.random, "uniform", lambda low, _: low)
    caplog.set_level(logging.DEBUG, "kvs")
    faults = []
    async with store_on(endpoint) as store:
        for step in (RESET, refusal("AccessDeniedException", message=KEY), Answer(KEY.encode())):
            for operation, call in ALL.values():
                endpoint.always(operation, step)
                faults.append(await _fault_of(call(store)))
    texts = [repr(fault) + repr(fault.__cause__) for fault in faults if fault is not None]
    assert len(texts) > 9
    said = "\n".join([*texts, *(record.getMessage() for record in caplog.records if "kvs" in record.name)])
    assert not any(secret in said for secret in (KEY, VALUE.decode(), SECRET_ACCESS_KEY, "tbl_a"))
