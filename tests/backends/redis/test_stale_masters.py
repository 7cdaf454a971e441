"""A master that was replaced while it was cut off keeps serving: no replica stays with it or adopts it."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendUnavailable
from backends.interface import Keyspace
from backends.redis.topology import one_master
from tests.support import entries
from tests.support.entries import Entry
from tests.support.outcomes import fault_of
from tests.support.ports import HOST
from tests.support.redis.resp import encode
from tests.support.redis.scripted import ScriptedRedis
from tests.support.stores import first_answer

pytestmark = pytest.mark.virtual_time

DEADLINES_OF_PRODUCTION = True
NOTICED_SECONDS = 2
KEYSPACE, KEY, ENTRY = Keyspace("t2_a"), "k", Entry(b"1", None)
ROLE = b"role:master\r\n"
STORED = b"*2\r\n*1\r\n$1\r\nW\r\n*0\r\n"
"""The reply to a put."""


def _reply(words):
    """INFO of a server that claims to be a master."""
    replies = {b"INFO": encode(ROLE)[4:], b"TIME": encode("1", "0"), b"EVALSHA": STORED}
    return replies.get(words[0], b"+OK\r\n")


def _master(_number):
    return _reply


class Vote:
    """The reply of a sentinel: the port of a server, or none."""

    def __init__(self, server):
        self.server = server

    def __call__(self, _):
        return None if self.server is None else encode(HOST, str(self.server.port))


@asynccontextmanager
async def _servers(number, replies):
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(ScriptedRedis(replies(each))) for each in range(number)]


@asynccontextmanager
async def _opened(url):
    store = await open_backend(RedisSettings(url=url), SystemClock())
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def region():
    """Two servers that both claim to be the master, and three sentinels that name the first."""
    async with _servers(2, _master) as masters:
        votes = [Vote(masters[0]) for _ in range(3)]
        async with _servers(3, lambda number: votes[number]) as sentinels:
            hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in sentinels)
            yield masters, votes, f"redis+sentinel://{hosts}/main"


async def _put_to(store, master, seconds=NOTICED_SECONDS):
    """Puts until one arrives at a server; returns the seconds that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(seconds):
        while not master.of(b"EVALSHA"):
            await fault_of(entries.put(store, KEYSPACE, KEY, ENTRY))
            await asyncio.sleep(0.01)
    return loop.time() - began


async def test_a_master_that_most_sentinels_replaced_is_left(region):
    (old, new), votes, url = region
    async with _opened(url) as store:
        await first_answer(store)
        votes[1].server = votes[2].server = new
        assert await _put_to(store, new) < NOTICED_SECONDS
        old.commands.clear()
        for _ in range(20):
            await entries.put(store, KEYSPACE, KEY, ENTRY)
        assert old.of(b"EVALSHA") == []


async def test_calls_in_flight_to_a_master_that_is_left_fail(region):
    (old, new), votes, url = region
    async with _opened(url) as store:
        await first_answer(store)
        answers = old.replies
        old.replies = lambda words: None if words[0] == b"EVALSHA" else answers(words)
        votes[0].server = votes[1].server = new
        await asyncio.sleep(one_master.WATCH_SECONDS - 0.1)
        fault = await fault_of(entries.get(store, KEYSPACE, KEY))
    assert isinstance(fault, BackendUnavailable)
    assert str(fault) == "the sentinels name another master"


async def test_one_sentinel_against_two_replaces_no_master(region):
    (old, new), votes, url = region
    votes[0].server = new
    async with _opened(url) as store:
        await first_answer(store)
        await asyncio.sleep(5)
        await entries.put(store, KEYSPACE, KEY, ENTRY)
    assert old.of(b"EVALSHA")
    assert new.commands == []


async def test_a_minority_of_sentinels_may_confirm_the_adopted_master(region):
    (old, _), votes, url = region
    async with _opened(url) as store:
        await first_answer(store)
        votes[0].server = votes[1].server = None
        await asyncio.sleep(5)
        await entries.put(store, KEYSPACE, KEY, ENTRY)
        old.close_connections()
        await asyncio.sleep(5)
        await entries.put(store, KEYSPACE, KEY, ENTRY)


async def test_a_minority_of_sentinels_cannot_introduce_a_master(region):
    (old, _), votes, url = region
    votes[0].server = votes[1].server = None
    async with _opened(url) as store:
        await asyncio.sleep(5)
        fault = await fault_of(entries.put(store, KEYSPACE, KEY, ENTRY))
    assert isinstance(fault, BackendUnavailable)
    assert str(fault).endswith("only 1 of 3 sentinels answer")
    assert old.commands == []


async def test_disagreeing_sentinels_prevent_a_new_connection(region):
    (old, new), votes, url = region
    votes[0].server, votes[1].server = None, new
    async with _opened(url) as store:
        await asyncio.sleep(5)
        fault = await fault_of(entries.put(store, KEYSPACE, KEY, ENTRY))
    assert str(fault).endswith("the sentinels name different masters")
    assert old.commands == new.commands == []


@pytest.fixture
async def cluster():
    """Three masters of a third of the slots each, and one more server; `views` is the slot map of each."""
    async with _servers(4, _master) as nodes:
        views = [nodes[:3] for _ in nodes]

        def replies(number):
            return lambda words: _slots(views[number]) if words[0] == b"CLUSTER" else _reply(words)

        for number, node in enumerate(nodes):
            node.replies = replies(number)
        yield nodes, views, "redis+cluster://" + ",".join(f"{HOST}:{node.port}" for node in nodes[:3])


def _slots(masters):
    bounds = [16_384 * each // len(masters) for each in range(len(masters) + 1)]
    ranges = [
        b"*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$1\r\ni\r\n" % (first, end - 1, master.port)
        for first, end, master in zip(bounds, bounds[1:], masters, strict=False)
    ]
    return b"*%d\r\n" % len(ranges) + b"".join(ranges)


async def _put_everywhere(store):
    for number in range(100):
        await fault_of(entries.put(store, Keyspace(f"t2_{number}"), KEY, ENTRY))


async def test_a_node_that_most_of_the_cluster_replaced_is_left(cluster):
    (old, second, third, heir), views, url = cluster
    async with _opened(url) as store:
        await first_answer(store)
        await _put_everywhere(store)
        assert old.of(b"EVALSHA")
        views[1] = views[2] = views[3] = [heir, second, third]
        await asyncio.sleep(NOTICED_SECONDS)
        old.commands.clear()
        await _put_everywhere(store)
    assert heir.of(b"EVALSHA")
    assert old.commands == []


async def test_one_node_against_the_others_moves_no_slot(cluster):
    (first, second, third, stranger), views, url = cluster
    async with _opened(url) as store:
        await first_answer(store)
        views[1] = [stranger, second, third]
        await asyncio.sleep(5)
        await _put_everywhere(store)
    assert stranger.commands == []
    assert first.of(b"EVALSHA")


async def test_nodes_of_an_idle_cluster_are_polled_at_most_once_a_second(cluster):
    (first, *_), _, url = cluster
    async with _opened(url) as store:
        await first_answer(store)
        first.commands.clear()
        await asyncio.sleep(10)
    assert 5 <= len(first.of(b"CLUSTER")) <= 15
