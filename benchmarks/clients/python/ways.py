"""The calls that are compared: with the client, and written by hand with botocore as its users write them."""

import asyncio
import json
import os
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session
from kvs_client import Client
from kvs_client.aio import from_env

Way = Callable[[int], Coroutine[Any, Any, None]]
"""Makes so many gets, one after the other."""


def signed(body: bytes, credentials: Any) -> AWSRequest:
    headers = {
        "Content-Type": "application/json",
        "X-KVS-Authorization": f"Bearer {os.environ['SERVICE_KVS_TOKEN_NOTES']}",
    }
    request = AWSRequest("POST", f"{os.environ['SERVICE_KVS_URL']}/v1/get", data=body, headers=headers)
    SigV4Auth(credentials, "execute-api", os.environ["SERVICE_KVS_REGION"]).add_auth(request)
    return request


async def with_the_client(calls: int) -> None:
    async with from_env("notes") as notes:
        each = calls // 16

        async def some() -> None:
            for _ in range(each):
                assert await notes.get("greeting")

        await asyncio.gather(*(some() for _ in range(16)))


async def with_the_synchronous_client(calls: int) -> None:
    with Client.from_env("notes") as notes:
        for _ in range(calls):
            assert notes.get("greeting")


async def by_hand_with_aiohttp(calls: int) -> None:
    """Credentials are found once, connections are kept; no deadline, no repetition."""
    credentials = Session().get_credentials().get_frozen_credentials()
    async with aiohttp.ClientSession() as session:

        async def some() -> None:
            for _ in range(calls // 16):
                request = signed(json.dumps({"key": "greeting"}).encode(), credentials)
                headers = dict(request.headers.items())
                async with session.post(request.url, data=request.data, headers=headers) as answer:
                    assert (await answer.json())["found"]

        await asyncio.gather(*(some() for _ in range(16)))


async def by_hand_as_documented(calls: int) -> None:
    """`docs/signing-by-hand.md`: a session and a connection per call."""
    for _ in range(calls):
        credentials = Session().get_credentials().get_frozen_credentials()
        request = signed(json.dumps({"key": "greeting"}).encode(), credentials)
        sent = urllib.request.Request(request.url, request.data, dict(request.headers), method="POST")
        with urllib.request.urlopen(sent) as answer:  # noqa: ASYNC210 - nothing else runs
            assert json.load(answer)["found"]


WAYS: dict[str, tuple[Way, int]] = {
    "asynchronous client": (with_the_client, 8_000),
    "by hand, aiohttp and botocore's signer": (by_hand_with_aiohttp, 8_000),
    "synchronous client": (with_the_synchronous_client, 4_000),
    "by hand, as documented": (by_hand_as_documented, 160),
}
