"""Replicas that share a Redis whose master changes."""

import asyncio
from contextlib import contextmanager, suppress
from secrets import token_hex

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendMisconfigured, BackendUnavailable
from tests.backends.redis.conformance import PREFIX, opened_redis
from tests.support import entries
from tests.support.entries import Entry, table_of
from tests.support.outcomes import fault_of
from tests.support.ports import HOST
from tests.support.redis import Sentinels, role_of
from tests.support.redis.deadlines import deadlines_of
from tests.support.redis.observer import Observer
from tests.support.redis.resp import ErrorReply
from tests.support.redis.sentinel import MASTER_NAME
from tests.support.redis.tls import PASSWORD, USER
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.store_traffic import TABLE, traffic

ENTRIES = f"{PREFIX}:t:{{{PREFIX}:w:{table_of(TABLE).home}}}:{TABLE}"
"""The hash of the table's entries in Redis."""
KEYS = [f"key-{number}" for number in range(8)]
DEADLINE_SECONDS = 1.0
"""Four times that of production: on a busy machine a server that is slow is not yet one that is gone."""
BACK_SECONDS = 2 + DEADLINE_SECONDS
"""After the sentinels agree: an attempt to reach a master that is silent takes a second, the pause after it
up to half a one. How long sentinels take is theirs: a vote without a winner costs them seconds."""

NOTICED_SECONDS = 2


@pytest.fixture(autouse=True)
def deadlines():
    with deadlines_of(DEADLINE_SECONDS):
        yield


@pytest.fixture(scope="module")
def sentinels():
    with Sentinels() as running:
        yield running


@pytest.fixture
async def master(sentinels):
    """A master with two replicas in step, whatever the test before did to them."""
    settled = await asyncio.to_thread(sentinels.wait_until_settled)
    others = [server for server in sentinels.servers if server is not settled]
    await asyncio.to_thread(wait_for, lambda: all(_follows(each, settled) for each in others), "no replicas")
    return settled


def _follows(server, master):
    role, *link = role_of(server)
    return role == b"slave" and link[:3] == [HOST.encode(), master.port, b"connected"]


async def test_replicas_share_every_port_of_the_master_that_the_sentinels_name(sentinels, master):
    """Commands and replies are those of one server, on which the whole conformance suite runs."""
    table, name, bucket = f"{TABLE}-{token_hex(4)}", f"a/{token_hex(4)}", token_hex(4)
    async with opened_redis(sentinels.url) as one, opened_redis(sentinels.url) as other:
        await entries.put(one, table, "k", Entry(b"1", None))
        assert await entries.get(other, table, "k") == Entry(b"1", None)
        await entries.drop(other, table)
        assert await entries.get(one, table, "k") is None
        charges = [await store.counters.charge(bucket, 1, 60_000) for store in (one, other)]
        assert [charge.admitted for charge in charges] == [True, False]
        position = (await other.records.changes(None)).position
        assert await one.records.swap(name, b"1", None)
        assert (await other.records.changes(position)).names == (name,)
        ((listed, record),) = await other.records.page(name, after="", limit=10)
        assert (listed, record.document) == (name, b"1")
        assert await other.records.swap(name, None, record.version)
        assert await one.records.read(name) is None


@pytest.mark.parametrize(("fault", "end"), [("kill", "start"), ("stop", "resume")])
async def test_a_master_that_is_gone_is_replaced_without_a_restart(sentinels, master, fault, end):
    async with opened_redis(sentinels.url) as store, traffic(store, KEYS, DEADLINE_SECONDS) as running:
        getattr(master, fault)()
        try:
            await running.until_failed()
            heir = await asyncio.to_thread(sentinels.wait_until_settled)
            assert heir is not master
            await running.until_served(BACK_SECONDS)
            failed = len(running.faults)
        finally:
            await asyncio.to_thread(getattr(master, end))
        await asyncio.to_thread(wait_for, lambda: _follows(master, heir), "the old master does not follow")
        await running.until_served()
        assert len(running.faults) == failed
    running.assert_faults_were_in_time()
    assert running.usual_refusal_seconds < 0.001


async def test_a_planned_failover_interrupts_calls_for_a_moment(sentinels, master):
    async with opened_redis(sentinels.url) as store, traffic(store, KEYS, DEADLINE_SECONDS) as running:
        await asyncio.to_thread(wait_for, lambda: _has_failed_over(sentinels, master), "no failover")
        await running.until_served(BACK_SECONDS)
        failed = len(running.faults)
        await running.until_served()
        assert len(running.faults) == failed
    running.assert_faults_were_in_time()


def _has_failed_over(sentinels, master):
    """Asks for it until it is done: a sentinel that has not seen the replicas yet finds none to promote."""
    if sentinels.wait_until_settled() is not master:
        return True
    with suppress(ErrorReply):
        sentinels.sentinels[0].command("SENTINEL", "FAILOVER", MASTER_NAME)
    return False


async def test_a_master_that_was_demoted_is_left_alone_until_it_is_one_again(sentinels, master):
    """Demotes it by hand, so that sentinels still name it: its data may be older than what was put."""
    heir = next(server for server in sentinels.servers if server is not master)
    async with opened_redis(sentinels.url) as store:
        await entries.put(store, TABLE, "k", Entry(b"1", None))
        master.command("REPLICAOF", HOST, heir.port)
        try:
            watch = Stopwatch(master.pid)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await fault_of(entries.get(store, TABLE, "k")):
                    with pytest.raises(BackendUnavailable, match="READONLY"):
                        await entries.put(store, TABLE, "k", Entry(b"2", None))
                    await asyncio.sleep(0.02)
            assert watch.seconds < 2
            for _ in range(10):
                with pytest.raises(BackendUnavailable, match="the sentinels name a replica"):
                    await entries.get(store, TABLE, "k")
                await asyncio.sleep(0.02)
        finally:
            master.command("REPLICAOF", "NO", "ONE")
        watch = Stopwatch(master.pid)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await fault_of(store.ping()):  # noqa: ASYNC110 - as a readiness check asks
                await asyncio.sleep(0.02)
        assert watch.seconds < 2
        assert await entries.get(store, TABLE, "k") == Entry(b"1", None)


async def test_a_store_that_has_found_the_master_keeps_it_if_one_sentinel_confirms_it(sentinels, master):
    first, second, _ = sentinels.sentinels
    async with opened_redis(sentinels.url) as early, traffic(early, KEYS, DEADLINE_SECONDS) as running:
        with _gone(first, second):
            await running.until_served()
            master.command("CLIENT", "KILL", "TYPE", "normal")
            await running.until_served()
            fault = await _refusal_of_a_new_store(sentinels.url)
    assert str(fault) == "only 1 of 3 sentinels answer"
    running.assert_faults_were_in_time()
    assert running.outage_seconds < BACK_SECONDS


async def test_without_sentinels_an_established_connection_serves_on_and_a_new_one_is_not_made(
    sentinels, master
):
    async with opened_redis(sentinels.url) as early, traffic(early, KEYS, DEADLINE_SECONDS) as running:
        with _gone(*sentinels.sentinels):
            fault = await _refusal_of_a_new_store(sentinels.url)
            await running.until_served()
    assert str(fault).startswith("no sentinel answers: ")
    assert running.faults == []


async def _refusal_of_a_new_store(url):
    """Returns its reason after the first failed attempt to connect."""
    store = await open_backend(RedisSettings(url=url), SystemClock())
    try:
        await asyncio.sleep(DEADLINE_SECONDS)
        fault = await fault_of(entries.get(store, TABLE, "k"))
    finally:
        await store.close()
    assert isinstance(fault, BackendUnavailable)
    return fault


async def test_a_master_that_is_cut_off_from_all_but_one_connection_is_left_once_it_is_replaced():
    """It shuts out sentinels and replicas, and still serves connections of other users."""
    with Sentinels() as region:
        servers, login = region.servers, (USER, PASSWORD)
        for server in servers:
            server.command("ACL", "SETUSER", USER, "on", f">{PASSWORD}", "~*", "+@all")
        url = region.url.replace("://", f"://{USER}:{PASSWORD}@")
        old = servers[0]
        async with opened_redis(url) as store:
            await entries.put(store, TABLE, "k", Entry(b"before", None))
            as_user = Observer(old.port, login)
            as_user.command("ACL", "SETUSER", "default", "off")
            as_user.command("CLIENT", "KILL", "USER", "default")
            await asyncio.to_thread(wait_for, lambda: _most_name_another(region, old), "no other master")
            watch = Stopwatch(*(server.pid for server in (*servers, *region.sentinels)))
            while not await _is_left(store, as_user):
                assert watch.seconds < NOTICED_SECONDS
            assert as_user.command("ROLE")[0] == b"master"
            charged = [await fault_of(store.counters.charge("b", 5, 60_000)) for _ in range(5)]
            assert charged == [None] * 5
            assert as_user.command("EXISTS", "kvs:w:b") == 0


def _most_name_another(region, old):
    named = [each.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME) for each in region.sentinels]
    return sum(int(port) != old.port for _, port in named) >= 2


async def _is_left(store, old):
    """Whether a put was acknowledged that the old master has not seen."""
    value = token_hex(4).encode()
    if await fault_of(entries.put(store, TABLE, "k", Entry(value, None))):
        await asyncio.sleep(0.01)
        return False
    return value not in old.command("HGET", ENTRIES, "k")


async def test_a_sentinel_that_is_stopped_is_passed_over(sentinels, master):
    first, *_ = sentinels.sentinels
    first.stop()
    try:
        async with opened_redis(sentinels.url) as store:
            await entries.put(store, TABLE, "k", Entry(b"1", None))
    finally:
        first.resume()


@pytest.mark.usefixtures("long_deadlines")
async def test_sentinels_that_do_not_know_the_master_are_named_in_the_reason(sentinels):
    store = await open_backend(RedisSettings(url=sentinels.url.replace(MASTER_NAME, "other")), SystemClock())
    fault = await fault_of(entries.get(store, TABLE, "k"))
    await store.close()
    assert isinstance(fault, BackendMisconfigured)
    assert str(fault) == "a sentinel: knows no master with this name"


@pytest.mark.usefixtures("long_deadlines")
async def test_a_server_that_is_no_sentinel_is_named_as_such(sentinels, master):
    url = f"redis+sentinel://127.0.0.1:{master.port}/{MASTER_NAME}"
    store = await open_backend(RedisSettings(url=url), SystemClock())
    fault = await fault_of(entries.get(store, TABLE, "k"))
    await store.close()
    assert isinstance(fault, BackendMisconfigured)
    assert "a sentinel: does not run Redis Sentinel: use a redis:// URL for it" in str(fault)


async def test_a_store_may_be_closed_at_any_time_and_leaves_no_task(sentinels, quiet_loop):
    for step in range(100):
        store = await open_backend(RedisSettings(url=sentinels.url), SystemClock())
        calls = [asyncio.create_task(fault_of(entries.get(store, TABLE, key))) for key in KEYS]
        await asyncio.sleep(step * 0.000_05)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await store.close()
        faults = [fault for fault in await asyncio.gather(*calls) if fault is not None]
        assert all(isinstance(fault, BackendUnavailable) for fault in faults)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@contextmanager
def _gone(*servers):
    for server in servers:
        server.kill()
    try:
        yield
    finally:
        for server in servers:
            server.start()
