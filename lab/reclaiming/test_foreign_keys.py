"""In a Redis with 200,000 keys of others, 60 deleted tables cost one replica a few walks."""

import asyncio

import pytest

from backends.redis.entries.walk import SCANNED_PER_STEP
from lab.reclaiming.crowded import delete_tables, gateways_on, latencies, populate, reclaimed
from tests.support.redis import RedisServer

FOREIGN_KEYS = 200_000
TABLES, ENTRIES = 60, 5
MOST_WALKS = 10
"""There are two or three, unless the machine is so slow that deleting the tables takes as long as several."""


@pytest.fixture(scope="module")
def crowded():
    with RedisServer() as server:
        populate(server, FOREIGN_KEYS)
        yield server


async def test_many_deletions_are_one_replicas_work_in_few_walks_beside_calls(crowded, tmp_path):
    crowded.command("CONFIG", "RESETSTAT")
    async with gateways_on(crowded, tmp_path, 2) as gateways:
        await delete_tables(gateways[0], TABLES, entries=ENTRIES)
        while True:
            assert len(await latencies(gateways[1], 0.2)) > 0
            counted = [await reclaimed(each) for each in gateways]
            if sum(deleted for _, deleted in counted) == TABLES * ENTRIES:
                break
            await asyncio.sleep(0.1)
        assert sorted(scanned > 0 for scanned, _ in counted) == [False, True]
    statistics = str(crowded.command("INFO", "commandstats"))
    scans = int(statistics.partition("cmdstat_scan:calls=")[2].partition(",")[0])
    assert scans <= MOST_WALKS * FOREIGN_KEYS / SCANNED_PER_STEP
    assert crowded.command("DBSIZE") >= FOREIGN_KEYS
