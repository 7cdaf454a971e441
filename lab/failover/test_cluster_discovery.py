"""A store finds the nodes of a cluster, and gives a reason if there are none."""

import asyncio
import logging
from secrets import token_hex

import pytest

from backends import RedisSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendMisconfigured, BackendUnavailable
from backends.redis.topology.discovery import find_view
from backends.redis.wire.url import Address
from backends.tables import Table
from tests.backends.redis.conformance import PREFIX, opened_redis
from tests.support import entries
from tests.support.entries import Entry
from tests.support.outcomes import fault_of
from tests.support.ports import HOST, free_port
from tests.support.redis import Cluster, RedisServer
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS, Stopwatch
from tests.support.store_traffic import TABLE, traffic

REFUSAL_SECONDS = 0.3


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.fixture
def lonely_node():
    """A node that no cluster knows."""
    with RedisServer(cluster_enabled="yes", cluster_announce_ip=HOST, cluster_node_timeout=1_000) as node:
        yield node


async def _works(store):
    for number in range(30):
        entry = Entry(token_hex(4).encode(), None)
        table = Table(f"{number}", TABLE)
        await entries.put(store, table, "k", entry)
        assert await entries.get(store, table, "k") == entry


def _url(*nodes):
    return "redis+cluster://" + ",".join(f"{HOST}:{getattr(node, 'port', node)}" for node in nodes)


@pytest.fixture
async def open_store():
    """Opens stores that need not answer."""
    stores = []

    async def open_at(url):
        stores.append(await open_backend(RedisSettings(url=url), SystemClock()))
        return stores[-1]

    yield open_at
    for store in stores:
        await store.close()


async def test_one_node_is_enough_to_find_all(cluster):
    async with opened_redis(_url(cluster.nodes[1])) as store:
        await _works(store)


async def test_a_seed_that_is_dead_is_passed_over(cluster):
    async with opened_redis(_url(free_port(), cluster.nodes[0])) as store:
        await _works(store)


async def test_a_seed_that_is_stopped_is_passed_over(cluster):
    with RedisServer(cluster_enabled="yes") as stopped:
        stopped.stop()
        async with opened_redis(_url(stopped, cluster.nodes[0])) as store:
            await _works(store)


async def test_a_seed_that_has_forgotten_the_cluster_is_passed_over(cluster, lonely_node):
    async with opened_redis(_url(lonely_node, cluster.nodes[0])) as store:
        await _works(store)


async def test_a_store_outlives_its_seeds_as_long_as_it_knows_another_node(cluster):
    with Cluster(masters=2, cluster_require_full_coverage="no") as pair:
        async with opened_redis(_url(pair.nodes[0])) as store:
            ours = next(f"{n}" for n in range(100) if pair.owner_of(_slot(pair, f"{n}")) is pair.nodes[1])
            pair.kill(pair.nodes[0])
            await entries.put(store, Table(ours, TABLE), "k", Entry(b"1", None))
            assert await entries.get(store, Table(ours, TABLE), "k") == Entry(b"1", None)


def _slot(cluster, home):
    return cluster.slot_of(f"{PREFIX}:w:{home}")


async def test_a_node_that_joins_takes_part(lonely_node):
    keys = [f"home/{number}" for number in range(4)]
    with Cluster(masters=1) as small:
        async with opened_redis(small.url) as store, traffic(store, keys) as running:
            await asyncio.to_thread(_join, small, lonely_node)
            await asyncio.to_thread(small.move_slot, _slot(small, "home"), lonely_node)
            await running.until_served()
            assert lonely_node.command("HLEN", f"{PREFIX}:t:{{{PREFIX}:w:home}}:{TABLE}") == len(keys)
    assert running.faults == []
    assert running.lost == []


async def test_a_store_that_is_closed_while_calls_find_new_nodes_leaves_no_task(lonely_node, quiet_loop):
    """A slot on its way to a node that has none yet, which a store learns of later."""
    with Cluster(masters=1) as small:
        await asyncio.to_thread(_join, small, lonely_node)
        small.slot_move(_slot(small, "home"), lonely_node).begin()
        for step in range(30):
            async with opened_redis(small.url) as store:
                table, keys = Table("home", TABLE), map(str, range(100))
                calls = [asyncio.create_task(fault_of(entries.get(store, table, key))) for key in keys]
                await asyncio.sleep(step / 10_000)
            faults = [fault for fault in await asyncio.gather(*calls) if fault is not None]
            assert all(isinstance(fault, BackendUnavailable) for fault in faults)
            assert asyncio.all_tasks() == {asyncio.current_task()}


def _join(cluster, node):
    node.command("CLUSTER", "MEET", HOST, cluster.nodes[0].port)
    cluster.nodes.append(node)
    wait_for(lambda: all(map(_has_met_another, cluster.nodes)), "the nodes do not meet")
    cluster.wait_until_whole()


def _has_met_another(node):
    nodes = node.command("CLUSTER", "NODES")
    return b"handshake" not in nodes and nodes.count(b" connected") == 2


async def test_a_store_without_its_cluster_is_ready_soon_after_the_cluster_is(open_store):
    """Nobody but the readiness check calls meanwhile: a replica that is not ready is sent no traffic."""
    with Cluster(masters=1) as alone:
        alone.kill(alone.nodes[0])
        store = await open_store(alone.url)
        with pytest.raises(BackendUnavailable):
            await store.ping()
        await asyncio.to_thread(alone.nodes[0].start)
        await asyncio.to_thread(alone.wait_until_whole)
        watch = Stopwatch(alone.nodes[0].pid)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await fault_of(store.ping()):  # noqa: ASYNC110 - as a readiness check asks
                await asyncio.sleep(0.02)
        assert watch.seconds < 2


async def _refusal_of(store):
    """Reason of a failed call once the store has seen its servers; each fails in time."""
    for _ in range(3):
        watch = Stopwatch()
        fault = await fault_of(entries.get(store, TABLE, "k"))
        assert watch.seconds < REFUSAL_SECONDS
    return fault


async def test_a_single_server_is_no_cluster_and_the_log_says_so_once(open_store, caplog):
    with RedisServer() as server:
        store = await open_store(_url(server))
        for refused in (_refusal_of(store), fault_of(store.ping()), _refusal_of(store)):
            fault = await refused
            assert isinstance(fault, BackendMisconfigured)
            assert "is not part of a cluster: use a redis:// URL" in str(fault)
            await asyncio.sleep(0.5)
    (line,) = [record for record in caplog.records if record.name == "kvs.redis"]
    assert (line.levelno, line.message) == (logging.WARNING, "cannot read the slot map of the cluster")
    assert line.fields == {"reason": str(fault)}


async def test_a_cluster_is_no_single_server(cluster):
    home = next(
        f"{n}" for n in range(100) if cluster.owner_of(_slot(cluster, f"{n}")) is not cluster.nodes[0]
    )
    store = await open_backend(RedisSettings(url=cluster.nodes[0].url), SystemClock())
    try:
        with pytest.raises(BackendMisconfigured, match=r"use a redis\+cluster:// URL \(MOVED\)"):
            await entries.get(store, Table(home, TABLE), "k")
    finally:
        await store.close()


class CannedNode:
    """A node that replies to each question with the next of these."""

    def __init__(self, *replies):
        self.replies = iter(replies)

    async def send(self, *_):
        return next(self.replies)

    def end(self, _):
        """Nothing to close."""


WHOLE = [[0, 16_383, [b"10.0.0.1", 7000, b"id"]]]


@pytest.mark.parametrize(
    "reply",
    [
        b"OK", [1], [[]], [[0, 1]], [[0, 1, [b"h"]]], [[0, 1, [b"h", b"7000"]]], [[0, 16_384, [b"h", 7000]]],
        [[5, 4, [b"h", 7000]]], [[-1, 4, [b"h", 7000]]], [[0, 1, [b"h", 0]]], [[0, 1, [b"\xff", 7000]]],
    ],
    ids=repr,
)  # fmt: skip
async def test_after_a_malformed_answer_the_next_one_is_asked_for(reply):
    node = CannedNode(reply, WHOLE)

    async def connect(_):
        return node

    seed = Address(HOST, 7000)
    with pytest.raises(BackendUnavailable, match="no node of the cluster answers"):
        await find_view([seed], connect)
    assert await find_view([seed], connect) == [(0, 16_383, Address("10.0.0.1", 7000))]
