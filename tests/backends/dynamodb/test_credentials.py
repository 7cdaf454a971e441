"""Credentials are found where AWS SDKs find them, and do not get about."""

import asyncio
import json
import logging

import pytest

from backends.errors import BackendUnavailable
from gateway.observability.logs import JsonFormatter
from tests.backends.dynamodb.scripted import TABLE_NAME, prepared_endpoint, store_on, unprepared_store
from tests.backends.dynamodb.sources import (
    FIRST,
    LASTING,
    PUT,
    ROLE,
    PodIdentity,
    assert_used,
    from_container,
    in_environment,
    in_file,
    used_soon,
)
from tests.support.dynamodb import REGION
from tests.support.gateway import run_gateway

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("found", [FIRST, LASTING], ids=["with a token", "without"])
async def test_credentials_of_the_environment(nothing, endpoint, found):
    in_environment(nothing, found)
    async with prepared_endpoint() as other, store_on(other):
        pass
    async with store_on(endpoint) as store:
        await assert_used(store, endpoint, found)


@pytest.mark.parametrize("profile", ["default", "kvs"])
async def test_credentials_of_a_shared_file(nothing, endpoint, tmp_path, profile):
    in_file(tmp_path, FIRST, profile)
    if profile != "default":
        nothing.setenv("AWS_PROFILE", profile)
    async with store_on(endpoint) as store:
        await assert_used(store, endpoint, FIRST)


async def test_credentials_of_a_pod(endpoint, source, pod):
    source.always(pod.operation, pod.answer(FIRST))
    async with store_on(endpoint) as store:
        await assert_used(store, endpoint, FIRST)
        (asked,) = source.calls
        assert pod.is_asked_by(asked)


async def test_without_credentials_a_gateway_lives_and_says_why_until_they_arrive(
    nothing, endpoint, tmp_path, caplog
):
    store = {
        "kind": "dynamodb",
        "table": TABLE_NAME,
        "region": REGION,
        "endpoint_url": endpoint.endpoint_url,
    }
    caplog.set_level(logging.INFO, "kvs")
    async with run_gateway({"store": store}) as gateway:
        for _ in range(3):
            await gateway.app.ops.health.check()
            assert (await gateway.ask_ops("/livez")).status == 200
            assert (await gateway.ask_ops("/readyz")).status == 503
            refused = await gateway.put("k", 1)
            assert (refused.status, refused.error) == (503, "quota_unavailable")
            assert refused.headers["Retry-After"] == "1"
        assert endpoint.calls == []
        lines = [json.loads(JsonFormatter().format(each)) for each in caplog.records]
        missing = "AWS credentials cannot be found or refreshed"
        assert [line["message"] for line in lines].count(missing) == 1
        assert "no AWS credentials found" in {line.get("reason") for line in lines}
        in_file(tmp_path, FIRST)
        async with asyncio.timeout(2.5):
            while (await gateway.put("k", 1)).status != 200:  # noqa: ASYNC110 - there is no event to await
                await asyncio.sleep(0.02)
        while (await gateway.ask_ops("/readyz")).status != 200:
            await asyncio.sleep(0.02)  # the table is verified again after half a second
            await gateway.app.ops.health.check()
        assert "AWS credentials are available again" in {each.message for each in caplog.records}
    assert not any(
        secret in caplog.text for secret in (FIRST.access_key, FIRST.secret_key, FIRST.token, "Traceback")
    )


async def test_calls_that_come_while_credentials_are_looked_for_wait_or_say_so(
    nothing, endpoint, source, tmp_path
):
    PodIdentity(nothing, tmp_path, source)
    slow = from_container(FIRST).late(0.8)
    source.always(PodIdentity.operation, slow)
    async with unprepared_store(endpoint.endpoint_url) as store:
        early = await asyncio.gather(*(PUT(store) for _ in range(6)), return_exceptions=True)
        assert {str(fault) for fault in early} == {"the first search for AWS credentials has not ended"}
        for fault in await used_soon(store, endpoint, FIRST):  # all that was no fault of DynamoDB
            assert "circuit breaker" not in str(fault)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("break_it", ["missing token", "broken file"])
async def test_broken_credential_sources_are_logged_and_do_not_stop_the_search(
    nothing, endpoint, tmp_path, break_it
):
    file = tmp_path / "AWS_SHARED_CREDENTIALS_FILE"
    if break_it == "missing token":
        nothing.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "none"))
        nothing.setenv("AWS_ROLE_ARN", ROLE)
    else:
        file.write_text("no section\n[")
    async with unprepared_store(endpoint.endpoint_url) as store:
        for _ in range(3):
            with pytest.raises(BackendUnavailable, match="no AWS credentials found"):
                await PUT(store)
        nothing.delenv("AWS_WEB_IDENTITY_TOKEN_FILE", raising=False)
        in_file(tmp_path, FIRST)
        await used_soon(store, endpoint, FIRST)


async def test_a_newline_at_the_end_of_a_secret_is_not_part_of_it(nothing, endpoint):
    """Files from which secrets are made often have one."""
    nothing.setenv("AWS_ACCESS_KEY_ID", FIRST.access_key + "\n")
    nothing.setenv("AWS_SECRET_ACCESS_KEY", FIRST.secret_key + "\n")
    nothing.setenv("AWS_SESSION_TOKEN", FIRST.token + "\n")
    async with store_on(endpoint) as store:
        await assert_used(store, endpoint, FIRST)


async def test_text_that_no_header_can_carry_is_not_used_as_credentials(nothing, often, endpoint):
    nothing.setenv("AWS_ACCESS_KEY_ID", FIRST.access_key)
    nothing.setenv("AWS_SECRET_ACCESS_KEY", FIRST.secret_key)
    nothing.setenv("AWS_SESSION_TOKEN", "a\nb")
    async with unprepared_store(endpoint.endpoint_url) as store:
        with pytest.raises(BackendUnavailable, match="no AWS credentials"):
            await PUT(store)
        nothing.setenv("AWS_SESSION_TOKEN", FIRST.token)
        await used_soon(store, endpoint, FIRST)
