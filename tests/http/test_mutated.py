"""Requests mutated on the wire are refused in JSON, or not answered, and harm no other client."""

import asyncio
import signal
from collections import Counter

import pytest

from tests.http.mutation import mutated
from tests.support.config import BASE, merged
from tests.support.evidence import note
from tests.support.gateway import Gateway
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.wire import parse_replies, send_one, signed_call

GATEWAY_IS_A_PROCESS = True

BODY = b'{"key":"k","value":[1,"\\u00e9"],"ttlSeconds":60}'
REFUSED = {400, 401, 403, 404, 405, 408, 413}
AT_ONCE = 50
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.fixture
async def process(tmp_path):
    patience = dict.fromkeys(("head_seconds", "body_seconds", "idle_seconds", "write_seconds"), 0.3)
    changes = {"edge": patience, "rate_limit": {"requests_per_minute": 1_000_000_000}}
    with GatewayProcess(merged(BASE, changes), tmp_path) as process:
        yield process


async def attack(gateway: Gateway, seed: int) -> list[int]:
    """Sends one mutated request; returns its statuses. A harmless mutation is served."""
    calls = [
        signed_call(gateway, operation, BODY, in_chunks=in_chunks, extra=())
        for operation in ("put", "get")
        for in_chunks in (False, True)
    ]
    replies = parse_replies((await gateway.send_raw(mutated(calls, seed))).replace(INTERIM, b""))
    for reply in replies:
        assert reply.headers["content-type"] == "application/json", seed
        assert reply.status == 200 or (reply.status in REFUSED and reply.error), seed
    return [reply.status for reply in replies] or [0]


@pytest.mark.parametrize(
    "attacks", [250, pytest.param(10_000, marks=pytest.mark.heavy)], ids=["250 attacks", "10,000 attacks"]
)
async def test_mutated_requests_are_refused_and_the_process_continues_to_serve(process, attacks):
    statuses: Counter[int] = Counter()
    async with client_of(process) as gateway:
        for first in range(0, attacks, AT_ONCE):
            seeds = range(first, min(first + AT_ONCE, attacks))
            for each in await asyncio.gather(*(attack(gateway, seed) for seed in seeds)):
                statuses.update(each)
            good = await send_one(gateway, signed_call(gateway, "put", BODY))
            assert (good.status, good.json) == (200, {"ok": True})
    note(tried=attacks, answered=statuses.total() - statuses[0])
    assert statuses[400] > attacks // 10
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    log = process.log.read_text()
    assert "Traceback" not in log
    assert '"level":"error"' not in log.lower().replace(" ", "")
