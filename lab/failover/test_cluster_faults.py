"""A cluster loses masters while calls are under way: what the others hold is served on."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.backends.redis.conformance import PREFIX, opened_redis
from tests.support import entries
from tests.support.entries import Entry
from tests.support.redis import Cluster, is_master, is_replica
from tests.support.redis.deadlines import deadlines_of
from tests.support.redis.slots import node_id
from tests.support.servers import wait_for
from tests.support.store_traffic import TABLE, traffic
from tests.support.stores import first_answer
from tests.support.wire import until

MASTERS = 3
KEYS_EACH = 3
DEADLINE_SECONDS = 1.0
"""Four times that of production: on a busy machine a node that is slow is not yet one that is gone."""
BACK_SECONDS = 1.2 + DEADLINE_SECONDS
"""After the cluster is: a second until the circuit breaker lets a probe through, a deadline, and some."""


@pytest.fixture(autouse=True)
def deadlines():
    with deadlines_of(DEADLINE_SECONDS):
        yield


def _keys_of(cluster, master):
    """Some keys whose slots `master` owns, each of a home of its own."""
    names = (f"key-{number}" for number in range(200))
    owned = [key for key in names if cluster.owner_of(cluster.slot_of(f"{PREFIX}:w:{key}")) is master]
    return owned[:KEYS_EACH]


@asynccontextmanager
async def _traffic_on(cluster):
    masters = dict.fromkeys(cluster.owner_of(slot) for slot in (0, 8_000, 16_383))
    keys = [key for master in masters for key in _keys_of(cluster, master)]
    assert len(keys) == MASTERS * KEYS_EACH
    async with opened_redis(cluster.url) as store, traffic(store, keys, DEADLINE_SECONDS) as running:
        yield running


def _touched(running):
    return {call.key for call in running.faults}


@pytest.mark.parametrize(
    ("needs_all_slots", "fault", "end"), [("no", "stop", "resume"), ("yes", "kill", "start")]
)
async def test_a_replica_takes_over_without_a_restart(needs_all_slots, fault, end):
    with Cluster(replicas_each=1, cluster_require_full_coverage=needs_all_slots) as cluster:
        victim = cluster.nodes[0]
        its_keys = set(_keys_of(cluster, victim))
        async with _traffic_on(cluster) as running:
            getattr(victim, fault)()
            await running.until_failed()
            await asyncio.to_thread(cluster.wait_until_whole)
            await running.until_served(BACK_SECONDS)
            failed = len(running.faults)
            await asyncio.to_thread(getattr(victim, end))
            await asyncio.to_thread(wait_for, lambda: is_replica(victim), "it is a master")
            await running.until_served()
            assert len(running.faults) == failed
    running.assert_faults_were_in_time()
    if needs_all_slots == "no":
        assert _touched(running) == its_keys


async def test_a_planned_failover_fails_no_call_and_loses_no_write():
    with Cluster(replicas_each=1) as cluster:
        replica = cluster.nodes[MASTERS]
        async with _traffic_on(cluster) as running:
            replica.command("CLUSTER", "FAILOVER")
            await asyncio.to_thread(wait_for, lambda: is_master(replica), "no failover")
            await running.until_served()
            await asyncio.to_thread(cluster.wait_until_whole)
            await running.until_served()
    assert running.faults == []
    assert running.lost == []


async def test_without_a_replica_the_slots_of_a_dead_master_are_refused_immediately_and_others_served():
    with Cluster(cluster_require_full_coverage="no") as cluster:
        witness, victim, _ = cluster.nodes
        its_keys = set(_keys_of(cluster, victim))
        async with _traffic_on(cluster) as running:
            name = node_id(victim)
            cluster.kill(victim)
            await asyncio.to_thread(wait_for, lambda: _is_missed(name, witness), "nobody misses the master")
            await running.until_failed()
            await _bring_back(cluster, victim, running)
    running.assert_faults_were_in_time()
    assert _touched(running) == its_keys
    assert running.usual_refusal_seconds < 0.001


async def test_a_dead_master_that_the_cluster_has_forgotten_is_asked_nothing_more():
    with Cluster(cluster_require_full_coverage="no") as cluster:
        *others, victim = cluster.nodes
        async with opened_redis(cluster.url) as store:
            await entries.put(store, TABLE, "key", Entry(b"1", None))
            name = node_id(victim)
            cluster.kill(victim)
            for other in others:
                other.command("CLUSTER", "FORGET", name)
            await first_answer(store)
            await entries.drop(store, TABLE)


def _is_missed(name, witness):
    (line,) = (line for line in witness.command("CLUSTER", "NODES").splitlines() if line.startswith(name))
    return b"master,fail " in line


async def test_if_all_slots_are_needed_all_are_refused_until_a_dead_master_is_back():
    with Cluster(cluster_require_full_coverage="yes") as cluster:
        victim = cluster.nodes[1]
        async with _traffic_on(cluster) as running:
            cluster.kill(victim)
            await until(lambda: len(_touched(running)) == MASTERS * KEYS_EACH)
            await _bring_back(cluster, victim, running)
    running.assert_faults_were_in_time()
    assert running.usual_refusal_seconds < 0.001


async def _bring_back(cluster, node, running):
    await asyncio.to_thread(node.start)
    await asyncio.to_thread(cluster.wait_until_whole)
    await running.until_served(BACK_SECONDS)
