"""While replicas on one port replace each other no request fails or goes uncounted."""

import ssl
from pathlib import Path

import pytest
import trustme

from tests.support.load import Load, client_of
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.traffic import Habits, Traffic
from tests.system.drain.succession import Succession

often = pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.heavy)])


def assert_nothing_was_lost(traffic: Traffic, succession: Succession) -> None:
    assert traffic.failures == []
    assert set(succession.exits) == {0}
    assert succession.counted == traffic.answered
    assert traffic.moved > 0
    assert "Traceback" not in succession.logs


@often
async def test_fifty_busy_clients_see_no_failure(start, times):
    succession = Succession(start)
    async with Traffic(succession.current.urls["data"], Habits(kept=50)) as traffic:
        await succession.replace(times)
    await succession.end()
    assert_nothing_was_lost(traffic, succession)


@often
async def test_clients_that_connect_for_every_call_see_no_failure(start, times):
    succession = Succession(start)
    async with Traffic(succession.current.urls["data"], Habits(fresh=60, every_seconds=0.04)) as traffic:
        await succession.replace(times)
    await succession.end()
    assert_nothing_was_lost(traffic, succession)


async def test_every_pipelined_call_is_answered(start):
    succession = Succession(start)
    async with Traffic(succession.current.urls["data"], Habits(pipelined=20, every_seconds=0.05)) as traffic:
        await succession.replace(2)
    await succession.end()
    assert_nothing_was_lost(traffic, succession)
    assert traffic.unanswered == 0


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority, tmp_path) -> dict[str, str]:
    file: Path = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    return {"certificate": str(file), "key": str(file)}


async def test_clients_over_tls_see_no_failure(start, authority, tls):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    succession = Succession(start, listen={"data": {"tls": tls}})
    habits = Habits(kept=20, fresh=10, every_seconds=0.1)
    async with Traffic(succession.current.urls["data"], habits, context) as traffic:
        await succession.replace(2)
    await succession.end()
    assert_nothing_was_lost(traffic, succession)


async def test_a_successor_reads_every_value_that_its_predecessor_acknowledged(start):
    with RedisServer() as server:
        succession = Succession(start, module=PATIENT, store={"kind": "redis", "url": server.url})
        async with client_of(succession.current) as gateway:
            async with Load([gateway], clients=20) as load:
                await succession.replace(2)
            await load.check_all()
        await succession.end()
    assert load.lies == []
    assert {(answer.status, answer.code) for answer in load.answers} == {(200, None)}
    assert set(succession.exits) == {0}
