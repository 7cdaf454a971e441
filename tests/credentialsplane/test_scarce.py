"""Strangers that hold up requests: slow bodies, and key ids of an issuer that does not answer."""

import asyncio
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from gateway.http.turns import MAX_BODIES, MAX_REQUESTS
from gateway.identity import issuer_keys
from gateway.identity.issuer_keys import MOST_WAITING
from tests.credentialsplane.workloads import SHOP, SUBJECT, TOKEN, configured, fetch, vouch
from tests.identity.issuer import AUDIENCE, ISSUER, issuing
from tests.support.config import ROLE
from tests.support.gateway import Gateway, run_gateway
from tests.support.wire import until

SLOW = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n"


def test_slow_strangers_leave_requests_of_a_lane_to_others():
    assert MAX_BODIES + MOST_WAITING < MAX_REQUESTS


async def test_a_hundred_slow_bodies_do_not_take_the_credentials_of_a_workload(fetching):
    async with AsyncExitStack() as stack:
        readers = [await _send_slowly(fetching, stack) for _ in range(100)]
        cut = [asyncio.create_task(each.readline()) for each in readers]
        await until(lambda: sum(each.done() for each in cut) >= 100 - MAX_BODIES)
        assert (await fetch(fetching)).status == 200
        for each in cut:
            each.cancel()
        await asyncio.gather(*cut, return_exceptions=True)


async def test_strangers_of_a_silent_issuer_do_not_take_the_credentials_of_a_workload(monkeypatch):
    monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 0.5)
    async with issuing() as issuer:
        issuer.misbehave = "silent"
        trusted = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": issuer.url}
        subjects = {"subjects": [{"subject": SUBJECT, "role": ROLE, **SHOP}]}
        own = {"tokens": [{"token": TOKEN, "role": ROLE, **SHOP}]}
        changes = configured({**trusted, **subjects}, own) | {"control": {"allow_insecure": True}}
        async with run_gateway(changes) as gateway:
            strangers = [asyncio.create_task(fetch(gateway, vouch())) for _ in range(2 * MAX_REQUESTS)]
            await until(lambda: sum(each.done() for each in strangers) >= len(strangers) - MOST_WAITING)
            assert (await fetch(gateway)).status == 200
            assert {(await each).status for each in strangers} == {503}


async def _send_slowly(gateway: Gateway, stack: AsyncExitStack) -> asyncio.StreamReader:
    """Sends a head whose body never comes."""
    where = urlsplit(gateway.replica.urls["credentials"])
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    stack.push_async_callback(_close, writer)
    writer.write(SLOW)
    return reader


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)
