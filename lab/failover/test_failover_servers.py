"""Sentinels and clusters that tests start: they fail over, move slots and leave nothing behind."""

import pytest

from tests.support.redis import Cluster, Sentinels, is_replica
from tests.support.redis.resp import ErrorReply
from tests.support.servers import process_exists, wait_for


@pytest.fixture(scope="module")
def sentinels():
    with Sentinels() as running:
        yield running


def test_sentinels_agree_on_the_master_from_the_start(sentinels):
    master = sentinels.wait_until_settled()
    assert master is sentinels.current_master() is sentinels.servers[0]
    assert sentinels.url.endswith(f":{sentinels.sentinels[2].port}/kvs-master/0")
    assert all(each.command("SENTINEL", "CKQUORUM", "kvs-master") for each in sentinels.sentinels)


def test_a_replica_takes_over_from_a_killed_master_with_its_data(sentinels):
    before = sentinels.current_master()
    before.write_to_replicas(2, "SET", "key", "value")
    assert sentinels.kill_master() is before
    after = sentinels.wait_until_settled()
    assert after is not before
    assert after.command("GET", "key") == b"value"
    before.start()
    wait_for(lambda: is_replica(before), "the old master does not become a replica")


def test_a_stopped_master_is_replaced_too_and_steps_down_when_it_is_resumed(sentinels):
    before = sentinels.wait_until_settled()
    before.stop()
    assert sentinels.wait_until_settled() is not before
    before.resume()
    wait_for(lambda: is_replica(before), "the old master does not become a replica")


@pytest.fixture(scope="module")
def cluster():
    with Cluster(replicas_each=1) as running:
        yield running


def test_the_masters_of_a_cluster_share_the_slots(cluster):
    assert [cluster.owner_of(slot) for slot in (0, 8_000, 16_383)] == cluster.nodes[:3]
    assert cluster.url == "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)


def test_a_slot_moves_with_its_keys(cluster):
    slot = cluster.slot_of("{tag}")
    source = cluster.owner_of(slot)
    target = next(node for node in cluster.nodes[:3] if node is not source)
    for number in range(25):
        source.command("SET", f"{{tag}}{number}", number)
    cluster.move_slot(slot, target)
    assert cluster.owner_of(slot) is target
    assert target.command("CLUSTER", "COUNTKEYSINSLOT", slot) == 25
    with pytest.raises(ErrorReply, match=f"MOVED {slot} 127.0.0.1:{target.port}"):
        source.command("GET", "{tag}7")


def test_in_the_middle_of_a_move_each_key_is_in_one_place(cluster):
    slot = cluster.slot_of("{half}")
    source = cluster.owner_of(slot)
    target = next(node for node in cluster.nodes[:3] if node is not source)
    for number in range(6):
        source.command("SET", f"{{half}}{number}", number)
    move = cluster.slot_move(slot, target)
    move.begin()
    assert move.move_keys(at_most=2) == 2
    assert source.command("CLUSTER", "COUNTKEYSINSLOT", slot) == 4
    assert target.command("CLUSTER", "COUNTKEYSINSLOT", slot) == 2
    with pytest.raises(ErrorReply, match=f"ASK {slot} 127.0.0.1:{target.port}"):
        source.command("GET", "{half}unknown")
    with pytest.raises(ErrorReply, match=f"MOVED {slot} 127.0.0.1:{source.port}"):
        target.command("GET", "{half}0")
    move.finish()
    cluster.wait_until_whole()
    assert cluster.owner_of(slot) is target
    assert target.command("CLUSTER", "COUNTKEYSINSLOT", slot) == 6


def test_a_replica_takes_over_the_slots_of_a_killed_master(cluster):
    slot = cluster.slot_of("key")
    before = cluster.owner_of(slot)
    before.write_to_replicas(1, "SET", "key", "value")
    cluster.kill(before)
    cluster.wait_until_whole()
    after = cluster.owner_of(slot)
    assert after is not before
    assert after.command("GET", "key") == b"value"
    before.start()
    wait_for(lambda: is_replica(before), "the old master does not become a replica")


def test_without_replicas_a_killed_master_leaves_the_cluster_down_until_it_returns():
    with Cluster() as cluster:
        victim, witness = cluster.nodes[:2]
        cluster.kill(victim)
        wait_for(
            lambda: b"cluster_state:fail" in witness.command("CLUSTER", "INFO"), "nobody misses the master"
        )
        victim.start()
        cluster.wait_until_whole()
        assert cluster.owner_of(0) is victim


@pytest.mark.parametrize("topology", [Sentinels, Cluster])
def test_a_failed_test_leaves_nothing_of_its_topology(topology):
    def fail():
        with topology() as running:
            servers.extend(running.nodes if topology is Cluster else running.servers + running.sentinels)
            pids.extend(server.pid for server in servers)
            servers[0].stop()
            raise LookupError

    servers, pids = [], []
    with pytest.raises(LookupError):
        fail()
    assert not any(process_exists(pid) for pid in pids)
    assert not any(server.directory.exists() for server in servers)
