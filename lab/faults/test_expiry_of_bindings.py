"""All remembered bindings expire at once under load: each replica reads each of them again once."""

import time

import pytest

from lab.faults.fleet import Fleet
from lab.faults.flood import flood
from tests.support.process import PATIENT
from tests.support.redis import RedisServer
from tests.support.replicas import new_table

MISSES = "kvs_directory_cache_misses_total"
CACHE_SECONDS = 1.0


@pytest.mark.parametrize(
    ("tables", "seconds"), [(20, 2.5), pytest.param(200, 15, marks=pytest.mark.heavy)], ids=str
)
async def test_no_binding_is_read_more_often_than_its_time_says(tmp_path, tables, seconds):
    with RedisServer() as server:
        changes = {
            "store": {"kind": "redis", "url": server.url},
            "directory": {"cache_ttl_seconds": CACHE_SECONDS, "max_tables": 1000},
        }
        async with Fleet(tmp_path, [changes] * 2, module=PATIENT) as fleet:
            tokens = [await new_table(fleet.gateways[0], f"t{number}") for number in range(tables)]
            before = [(await gateway.metrics())[MISSES] for gateway in fleet.gateways]
            began = time.monotonic()
            floods = []
            while time.monotonic() - began < seconds:
                floods.append(await flood(fleet.gateways, 6 * tables, tokens=tokens, connections=20))
            lasted = time.monotonic() - began
            after = [(await gateway.metrics())[MISSES] for gateway in fleet.gateways]
    assert {status for each in floods for status in each.statuses} == {200}
    for read_before, read_after in zip(before, after, strict=True):
        assert read_after - read_before <= tables * (lasted / CACHE_SECONDS + 1)
        assert read_after - read_before >= tables
