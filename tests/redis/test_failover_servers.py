"""Sentinels and clusters that tests start: they fail over, move slots and leave nothing behind."""

import pytest

from tests.support.redis import Sentinels
from tests.support.redis.observer import wait_for


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
    before.command("SET", "key", "value")
    assert before.command("WAIT", 2, 5_000) == 2
    assert sentinels.kill_master() is before
    after = sentinels.wait_until_settled()
    assert after is not before
    assert after.command("GET", "key") == b"value"
    before.start()
    wait_for(lambda: before.command("ROLE")[0] == b"slave", "the old master does not become a replica")


def test_a_stopped_master_is_replaced_too_and_steps_down_when_it_is_resumed(sentinels):
    before = sentinels.wait_until_settled()
    before.stop()
    assert sentinels.wait_until_settled() is not before
    before.resume()
    wait_for(lambda: before.command("ROLE")[0] == b"slave", "the old master does not become a replica")
