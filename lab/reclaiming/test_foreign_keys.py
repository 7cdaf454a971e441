"""In a Redis with 200,000 keys of others, 60 tables are dropped by one replica, and no other key is."""

import asyncio

import pytest

from lab.reclaiming.crowded import delete_tables, dropped, gateways_on, latencies, populate
from tests.support.redis import RedisServer
from tests.support.stopwatch import PATIENCE_SECONDS

FOREIGN_KEYS = 200_000
TABLES, ENTRIES = 60, 5


@pytest.fixture(scope="module")
def crowded():
    with RedisServer() as server:
        populate(server, FOREIGN_KEYS)
        yield server


async def test_many_deletions_are_one_replicas_work_beside_calls(crowded, tmp_path):
    async with gateways_on(crowded, tmp_path, 2) as gateways:
        await delete_tables(gateways[0], TABLES, entries=ENTRIES)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sum(counted := [await dropped(each) for each in gateways]) < TABLES:
                assert len(await latencies(gateways[1], 0.2)) > 0
        assert sorted(counted) == [0, TABLES]
    assert crowded.command("KEYS", "kvs:t:*") == []
    assert len(crowded.command("KEYS", "kvs:e:*")) >= FOREIGN_KEYS
