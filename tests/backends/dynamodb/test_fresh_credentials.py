"""Credentials are fresh in time, and no call waits or fails for it."""

import asyncio
import time

import pytest

from backends.dynamodb import credentials
from backends.errors import BackendUnavailable
from tests.backends.dynamodb.scripted import store_on
from tests.backends.dynamodb.sources import (
    FIRST,
    PUT,
    SECOND,
    assert_used,
    in_file,
    used_soon,
)
from tests.support.dynamodb.answers import RESET, SILENCE, Answer, refusal
from tests.support.wire import until

pytestmark = pytest.mark.virtual_time


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("minutes", [12, 5, 0.03], ids=["old", "older", "ended by the local clock"])
async def test_credentials_are_refreshed_before_they_end_and_used_while_that_fails(
    nothing, endpoint, source, pod, minutes
):
    """No call waits for a refresh, and none fails as long as DynamoDB takes the old ones."""
    nothing.setattr("aiobotocore.utils.AioContainerMetadataFetcher.SLEEP_TIME", 0)
    source.script(pod.operation, *[pod.answer(FIRST, minutes)] * pod.first_calls)
    source.always(pod.operation, Answer(b"{}", 503))
    async with store_on(endpoint) as store:
        time.sleep(minutes * 60 if minutes < 1 else 0)  # noqa: ASYNC251 - botocore reads the machine's clock
        while len(source.calls) < 8:
            await assert_used(store, endpoint, FIRST)
            await asyncio.sleep(0.01)
        source.always(pod.operation, RESET)
        for _ in range(20):
            await assert_used(store, endpoint, FIRST)
            await asyncio.sleep(0.01)
        pod.token_file.write_text(pod.token_file.read_text() + "-2")
        await until(lambda: pod.is_asked_by(source.calls[-1]))
        source.always(pod.operation, pod.answer(SECOND))
        assert await used_soon(store, endpoint, SECOND) == []


@pytest.mark.usefixtures("often")
async def test_no_call_waits_for_a_refresh_that_hangs(nothing, endpoint, source, pod):
    nothing.setattr(credentials, "TIMEOUT_SECONDS", 0.3)
    source.script(pod.operation, *[pod.answer(FIRST, 5)] * pod.first_calls)
    source.always(pod.operation, SILENCE)
    async with store_on(endpoint) as store:
        async with asyncio.timeout(1.5):
            while len(source.calls) < 3:
                await assert_used(store, endpoint, FIRST)
                await asyncio.sleep(0.01)
        source.always(pod.operation, pod.answer(SECOND))
        assert await used_soon(store, endpoint, SECOND) == []


@pytest.mark.parametrize("kind", ["ExpiredTokenException", "UnrecognizedClientException"])
async def test_refused_credentials_are_looked_up_again_immediately(nothing, endpoint, tmp_path, kind):
    in_file(tmp_path, FIRST)
    async with store_on(endpoint) as store:
        await asyncio.sleep(credentials.COOLDOWN_SECONDS + 0.1)
        in_file(tmp_path, SECOND)
        await assert_used(store, endpoint, FIRST)
        endpoint.script("PutItem", refusal(kind))
        (fault,) = await used_soon(store, endpoint, SECOND, 0.5)
        assert kind in str(fault)


async def test_credentials_that_stay_refused_are_looked_for_once_a_second(nothing, endpoint, tmp_path):
    in_file(tmp_path, FIRST)
    looks = []

    class Counted(credentials.AioSession):
        async def get_credentials(self):
            looks.append(asyncio.get_running_loop().time())
            return await super().get_credentials()

    nothing.setattr(credentials, "AioSession", Counted)
    async with store_on(endpoint) as store:
        endpoint.always("PutItem", refusal("ExpiredTokenException"))
        async with asyncio.timeout(4):
            while len(looks) < 3:
                with pytest.raises(BackendUnavailable, match="expired"):
                    await PUT(store)
                await asyncio.sleep(0.01)
    assert looks[2] - looks[1] > 0.95


async def test_old_refusals_do_not_send_for_credentials_again(nothing, often, endpoint, tmp_path):
    """Many calls were in flight when the old ones ended."""
    in_file(tmp_path, FIRST)
    nothing.setattr(credentials, "REFRESH_SECONDS", 3600)
    async with store_on(endpoint) as store:
        await asyncio.sleep(0.05)
        in_file(tmp_path, SECOND)
        endpoint.script("PutItem", *[refusal("ExpiredTokenException").late(0.05 * n) for n in range(6)])
        faults = await asyncio.gather(*(PUT(store) for _ in range(6)), return_exceptions=True)
        assert {type(fault) for fault in faults} == {BackendUnavailable}
        in_file(tmp_path, FIRST)
        await asyncio.sleep(0.05)
        await assert_used(store, endpoint, SECOND)
