"""Each failure of DynamoDB ends in the right code, in time, and in a log that says why and nothing secret."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from backends.dynamodb import client
from gateway.directory.tokens import new_token
from gateway.observability import stores
from gateway.observability.logs import JsonFormatter
from tests.backends.dynamodb.conformance import suited_to_engines
from tests.backends.dynamodb.scripted import TABLE_NAME, prepared_endpoint
from tests.support.clock import FakeClock
from tests.support.config import BASE, TABLE_TOKEN, merged
from tests.support.dynamodb import ENVIRONMENT, REGION, Ministack
from tests.support.dynamodb.answers import (
    GARBAGE,
    NOT_JSON,
    PROXY_PAGE,
    RESET,
    SILENCE,
    Answer,
    answer,
    refusal,
)
from tests.support.dynamodb.observer import SECRET_ACCESS_KEY
from tests.support.gateway import run_gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.redis import RedisServer
from tests.support.stopwatch import PATIENCE_SECONDS

KEY, VALUE = "the key", "the value"
SESSION_TOKEN = "the session token"
UNKNOWN_TOKEN = new_token()
SECRETS = (KEY, VALUE, TABLE_TOKEN, UNKNOWN_TOKEN, SECRET_ACCESS_KEY, SESSION_TOKEN)
GOOD = answer({"Item": {"v": {"B": "IjEi"}}})
FAULTS = [
    ("throttles (ProvisionedThroughputExceededException)", refusal("ProvisionedThroughputExceededException")),
    ("throttles (ThrottlingException)", refusal("ThrottlingException")),
    ("throttles (RequestLimitExceeded)", refusal("RequestLimitExceeded")),
    ("DynamoDB failed (500)", refusal("InternalServerError")),
    ("DynamoDB failed (503)", refusal("ServiceUnavailable")),
    ("DynamoDB failed (502)", PROXY_PAGE),
    ("the connection to DynamoDB was lost", RESET),
    ("the connection to DynamoDB was lost", GOOD.truncated()),
    ("the connection to DynamoDB was lost", GARBAGE),
    ("the checksum of a DynamoDB response is wrong", GOOD.with_a_flipped_bit()),
    ("does not speak the protocol of DynamoDB", NOT_JSON),
    ("does not speak the protocol of DynamoDB", Answer(b"<html>log in</html>")),
    ("did not answer in time", SILENCE),
    ("did not answer in time", GOOD.late(1)),
    ("the credentials have expired (ExpiredTokenException)", refusal("ExpiredTokenException")),
    ("the credentials are unknown (UnrecognizedClientException)", refusal("UnrecognizedClientException")),
    ("the role lacks permission (AccessDeniedException)", refusal("AccessDeniedException")),
    ("the table does not exist (ResourceNotFoundException)", refusal("ResourceNotFoundException")),
]
"""Faults by their reason in the log."""


def settings_for(endpoint_url: str, **changes) -> dict:
    store = {"kind": "dynamodb", "table": TABLE_NAME, "region": REGION, "endpoint_url": endpoint_url}
    return {"store": {**store, **changes}}


async def until_ready(gateway, seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while (await gateway.ask_ops("/readyz")).status != 200:
            await gateway.app.ops.health.check()
            await asyncio.sleep(0.01)


def reasons(caplog) -> set[str]:
    records = [each for each in caplog.records if each.name.startswith("kvs")]
    assert not any(each.exc_info for each in records), "an exception was not foreseen"
    lines = [json.loads(JsonFormatter().format(each)) for each in records]
    assert not any(secret in json.dumps(lines) for secret in SECRETS)
    return {line["reason"] for line in lines if "reason" in line}


async def assert_refused(call, code: str) -> None:
    started = time.monotonic()
    reply = await call
    assert (reply.status, reply.error, reply.headers["Retry-After"]) == (503, code, "1")
    assert time.monotonic() - started < 2.3


@pytest.fixture
async def endpoint():
    async with prepared_endpoint() as endpoint:
        yield endpoint


@asynccontextmanager
async def served(endpoint, environment, monkeypatch, clock):
    environment.setenv("AWS_SESSION_TOKEN", SESSION_TOKEN)
    monkeypatch.setattr(stores, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(client, "ATTEMPT_SECONDS", 0.15)
    monkeypatch.setattr(client.random, "uniform", lambda low, _: low)
    async with run_gateway(settings_for(endpoint.endpoint_url), clock=clock) as gateway:
        await until_ready(gateway)
        yield gateway


async def test_every_fault_of_entries_is_storage_that_is_unavailable(
    endpoint, environment, monkeypatch, caplog
):
    clock = FakeClock()
    async with served(endpoint, environment, monkeypatch, clock) as gateway:
        for reason, step in FAULTS:
            calls = {"PutItem": gateway.put(KEY, VALUE), "GetItem": gateway.get(KEY)}
            calls["DeleteItem"] = gateway.delete(KEY)
            for operation, call in calls.items():
                endpoint.always(operation, step)
                await assert_refused(call, "storage_unavailable")
                endpoint.always(operation, answer())
                clock.advance(1000)
                assert (await gateway.put(KEY, VALUE)).status == 200, reason
            assert any(each.endswith(reason) for each in reasons(caplog)), reason
            caplog.clear()


async def test_every_fault_of_counters_is_quota_that_cannot_be_counted(
    endpoint, environment, monkeypatch, caplog
):
    clock = FakeClock()
    good = endpoint._defaults["UpdateItem"]
    async with served(endpoint, environment, monkeypatch, clock) as gateway:
        for reason, step in FAULTS:
            endpoint.always("UpdateItem", step)
            sent = len(endpoint.of("PutItem"))
            await assert_refused(gateway.put(KEY, VALUE), "quota_unavailable")
            assert len(endpoint.of("PutItem")) == sent
            endpoint.always("UpdateItem", good)
            clock.advance(1000)
            assert (await gateway.put(KEY, VALUE)).status == 200, reason
            assert any(each.endswith(reason) for each in reasons(caplog)), reason
            caplog.clear()


async def test_every_fault_of_the_directory_is_a_token_that_cannot_be_looked_up(
    endpoint, environment, monkeypatch, caplog
):
    clock = FakeClock()
    async with served(endpoint, environment, monkeypatch, clock) as gateway:
        for reason, step in FAULTS:
            endpoint.always("GetItem", step)
            await assert_refused(gateway.put(KEY, VALUE, token=UNKNOWN_TOKEN), "auth_unavailable")
            endpoint.always("GetItem", answer())
            clock.advance(1000)
            assert (await gateway.put(KEY, VALUE)).status == 200, reason
            assert any(each.endswith(reason) for each in reasons(caplog)), reason
            caplog.clear()
        assert (await gateway.put(KEY, VALUE, token=UNKNOWN_TOKEN)).status == 401


async def test_a_store_that_is_left_alone_costs_callers_no_time(endpoint, environment, monkeypatch):
    async with served(endpoint, environment, monkeypatch, FakeClock()) as gateway:
        for operation in ("UpdateItem", "Query", "GetItem"):
            endpoint.always(operation, SILENCE)
        for _ in range(5):
            await assert_refused(gateway.get(KEY), "quota_unavailable")
        sent = len(endpoint.of("UpdateItem"))  # the directory is looked after meanwhile
        started = time.monotonic()
        for _ in range(50):
            await assert_refused(gateway.get(KEY), "quota_unavailable")
        assert (time.monotonic() - started) / 50 < 0.02
        assert len(endpoint.of("UpdateItem")) == sent


async def test_a_table_that_is_gone_makes_the_gateway_unready_until_it_is_back(
    endpoint, environment, monkeypatch
):
    async with served(endpoint, environment, monkeypatch, SystemClock()) as gateway:
        endpoint.always("GetItem", refusal("ResourceNotFoundException"))
        await gateway.app.ops.health.check()
        assert (await gateway.ask_ops("/readyz")).json["dependencies"]["store"] == "down"
        endpoint.always("GetItem", answer())
        await until_ready(gateway)


async def test_counters_in_redis_beside_a_store_in_dynamodb():
    with suited_to_engines(), RedisServer() as redis, Ministack() as engine:
        changes = settings_for(engine.endpoint_url, create_table=True)
        changes["counters"] = {"kind": "redis", "url": redis.url}
        changes["rate_limit"] = {"requests_per_minute": 5}
        async with run_gateway(changes, clock=SystemClock()) as gateway:
            await until_ready(gateway)
            assert (await gateway.put(KEY, VALUE)).status == 200
            assert (await gateway.get(KEY)).json["value"] == VALUE
            assert redis.command("KEYS", "kvs:w:*")
            pks = {item["pk"]["S"] for item in engine.observer.scan(TABLE_NAME)}
            assert {pk[:2] for pk in pks} == {"e#"}
            redis.kill()
            await assert_refused(gateway.get(KEY), "quota_unavailable")
            redis.start()
            await until_ready(gateway)
            engine.kill()
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (reply := await gateway.get(KEY)).error != "storage_unavailable":  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
            await assert_refused(gateway.put(KEY, VALUE, token=UNKNOWN_TOKEN), "auth_unavailable")
            statuses = [(await gateway.get(KEY)).status for _ in range(6)]
            assert statuses[-1] == 429
            await gateway.app.ops.health.check()
            down = (await gateway.ask_ops("/readyz")).json["dependencies"]
            assert (down["store"], down["counters"]) == ("down", "up")


async def test_the_log_of_a_gateway_at_its_most_talkative_holds_no_secret_and_no_chatter(tmp_path):
    with Ministack() as engine:
        config = merged(BASE, settings_for(engine.endpoint_url, create_table=True))
        config["logging"] = {"level": "debug"}
        environment = {**ENVIRONMENT, "AWS_SESSION_TOKEN": SESSION_TOKEN}
        with await asyncio.to_thread(GatewayProcess, config, tmp_path, environment) as process:
            async with client_of(process) as gateway:
                async with asyncio.timeout(10):
                    while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                assert (await gateway.put(KEY, VALUE)).status == 200
                assert (await gateway.get(KEY)).json["value"] == VALUE
                await asyncio.to_thread(engine.kill)
                assert (await gateway.put(KEY, VALUE)).status == 503
                assert (await gateway.put(KEY, VALUE, token=UNKNOWN_TOKEN)).status == 503
            process.signal()
            assert await asyncio.to_thread(process.wait) == 0
        log = process.log.read_text()
    assert not any(secret in log for secret in SECRETS)
    assert not any(word in log for word in ("Credential=", "Traceback", "Unclosed", "never retrieved"))
    loggers = {json.loads(line)["logger"] for line in log.splitlines()}
    assert {name.partition(".")[0] for name in loggers} <= {"kvs", "asyncio"}


async def test_a_gateway_that_starts_without_dynamodb_lives_and_is_ready_soon_after_it_arrives(tmp_path):
    store = {"kind": "dynamodb", "table": "kvs-late", "region": REGION, "create_table": True}
    engine = Ministack()
    with engine:
        store["endpoint_url"] = engine.endpoint_url
        engine.kill()
        config = merged(BASE, {"store": store, "logging": {"level": "debug"}})
        process = await asyncio.to_thread(GatewayProcess, config, tmp_path, ENVIRONMENT)
        with process:
            async with client_of(process) as gateway:
                for _ in range(10):
                    assert (await gateway.ask_ops("/livez")).status == 200
                    assert (await gateway.ask_ops("/readyz")).status == 503
                    refused = await gateway.put("k", 1)
                    assert (refused.status, refused.error) == (503, "quota_unavailable")
                    await asyncio.sleep(0.05)
                await asyncio.to_thread(engine.start)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while (await gateway.ask_ops("/readyz")).status != 200:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                assert (await gateway.put("k", 1)).status == 200
        log = process.log.read_text()
        assert "Traceback" not in log
        assert "Unclosed" not in log
