"""The scripted endpoint does to a client what tests of the adapter believe."""

import asyncio
import random

import aiohttp
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.dynamodb import ScriptedEndpoint
from tests.support.dynamodb.answers import CLOSED, GARBAGE, RESET, SILENCE, THROTTLED, answer, refusal
from tests.support.dynamodb.endpoint import after_it_was_applied

pytestmark = pytest.mark.virtual_time

REGION = "eu-central-1"
GOOD = answer({"Item": {"k": {"S": "kept"}}})


@pytest.fixture
async def session():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        yield session


@pytest.fixture
async def endpoint():
    async with ScriptedEndpoint() as endpoint:
        yield endpoint


async def call(session, endpoint, operation="GetItem", body=b'{"n": 1}', headers=None):
    fields = headers or {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    async with session.post(endpoint.endpoint_url + "/", data=body, headers=fields) as reply:
        return reply, await reply.read()


async def test_steps_are_taken_in_order_and_then_the_default(session, endpoint):
    endpoint.script("GetItem", THROTTLED, refusal("InternalServerError"))
    endpoint.always("GetItem", GOOD)
    statuses = [(await call(session, endpoint))[0].status for _ in range(4)]
    assert statuses == [400, 500, 200, 200]
    assert [each.payload for each in endpoint.of("GetItem")] == [{"n": 1}] * 4
    assert endpoint.connections == 1


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (RESET, aiohttp.ClientOSError),
        (CLOSED, aiohttp.ServerDisconnectedError),
        (GARBAGE, aiohttp.ClientResponseError),
        (GOOD.truncated(), aiohttp.ClientPayloadError),
        (GOOD.reset_in_the_middle(), aiohttp.ClientPayloadError),
    ],
)
async def test_a_broken_answer_breaks_as_named(session, endpoint, step, error):
    endpoint.always("GetItem", step)
    with pytest.raises(error):
        await call(session, endpoint)


@pytest.mark.parametrize("step", [SILENCE, GOOD.stuck_in_the_middle(), GOOD.late(3600)])
async def test_a_silent_endpoint_keeps_the_connection_and_the_answer(session, endpoint, step):
    endpoint.always("GetItem", step)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await call(session, endpoint)


async def test_an_answer_in_two_packets_is_whole(session, endpoint):
    endpoint.always("GetItem", GOOD.in_two_packets())
    reply, body = await call(session, endpoint)
    assert (reply.status, body) == (200, GOOD.body)


async def test_only_the_checksum_reveals_a_flipped_bit(session, endpoint):
    endpoint.script("GetItem", GOOD, GOOD.with_a_flipped_bit(), GOOD.with_wrong_crc32(), GOOD.without_crc32())
    seen = [await call(session, endpoint) for _ in range(4)]
    assert [reply.headers.get("x-amz-crc32") == str(GOOD.crc32) for reply, _ in seen] == [
        True,
        True,
        False,
        False,
    ]
    assert [body == GOOD.body for _, body in seen] == [True, False, True, True]


async def test_a_call_without_a_script_fails_the_test(session):
    with pytest.raises(AssertionError, match="PutItem"):
        async with ScriptedEndpoint() as endpoint:
            await call(session, endpoint, "PutItem")


async def test_faults_before_an_engine_keep_the_call_from_it_and_faults_after_do_not(session, endpoint):
    endpoint.always("PutItem", GOOD)
    async with ScriptedEndpoint(endpoint.endpoint_url) as front:
        front.script("PutItem", THROTTLED, after_it_was_applied(lambda good: good.truncated()))
        assert (await call(session, front, "PutItem"))[0].status == 400
        assert not endpoint.calls
        with pytest.raises(aiohttp.ClientPayloadError):
            await call(session, front, "PutItem")
        assert len(endpoint.calls) == 1
        reply, body = await call(session, front, "PutItem")
        assert (reply.headers["x-amz-crc32"], body) == (str(GOOD.crc32), GOOD.body)


async def test_scattered_faults_repeat_with_their_seed(session, endpoint):
    endpoint.always("GetItem", GOOD)

    async def statuses():
        endpoint.scatter(THROTTLED, refusal("ServiceUnavailable"), probability=0.5, seed=7)
        return [(await call(session, endpoint))[0].status for _ in range(20)]

    first = await statuses()
    assert set(first) == {200, 400, 503}
    assert await statuses() == first


@pytest.mark.parametrize("token", [None, "session token/+="])
async def test_the_signature_is_botocores(session, endpoint, token):
    endpoint.always("GetItem", GOOD)
    credentials = Credentials("AKID", "secret", token)
    body = random.Random(1).randbytes(100)
    request = AWSRequest(
        "POST",
        endpoint.endpoint_url + "/",
        {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Host": endpoint.endpoint_url.removeprefix("http://")},
        body,
    )
    SigV4Auth(credentials, "dynamodb", REGION).add_auth(request)
    await call(session, endpoint, body=body, headers=dict(request.headers))
    (seen,) = endpoint.calls
    seen.verify_signature(credentials, REGION)
    with pytest.raises(AssertionError, match="signature"):
        seen.verify_signature(Credentials("AKID", "other", token), REGION)
