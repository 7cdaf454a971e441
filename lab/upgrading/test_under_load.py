"""Tables of version 0.2 are moved while clients use them through two replicas, and moves are interrupted."""

import asyncio
import random
import time
from collections import defaultdict
from contextlib import suppress
from itertools import count

import pytest

from backends.errors import BackendUnavailable
from backends.tables import DeleteEntry, GetEntry, NoEntry, OldLayout, Removed, StoredEntry, Written
from lab.faults.linearizability import MISSING, NEVER, Operation, Read, Write, first_violation
from tests.backends.redis.conformance import opened_redis
from tests.backends.redis.upgrading import OLD, all_entries, do, fail, interrupted, put_of, wall_ms
from tests.support.redis import Cluster, RedisServer
from tests.support.redis.deadlines import deadlines_of
from tests.support.redis.version_0_2 import OldReplica

SEEDS = 4
CLIENTS = 8
OTHERS = 200
KEYS = [f"key {number}" for number in range(6)]


@pytest.fixture(scope="module", params=[RedisServer, Cluster])
def servers(request):
    with deadlines_of(), request.param() as running:
        yield running


class _Clients:
    """Clients that share a few keys, until the table is upgraded and a little longer."""

    def __init__(self, replicas, seed: int) -> None:
        self.histories: dict[str, list[Operation]] = defaultdict(list)
        self.failures = 0
        self._replicas = replicas
        self._dice = random.Random(seed)
        self._values = count()

    async def run(self, is_over: asyncio.Event) -> None:
        await asyncio.gather(*(self._use(is_over) for _ in range(CLIENTS)))

    async def _use(self, is_over: asyncio.Event) -> None:
        left = 20
        while left:
            left -= is_over.is_set()
            await self._one(self._dice.choice(self._replicas), self._dice.choice(KEYS))

    async def _one(self, replica, key: str) -> None:
        name = self._dice.choices(["put", "get", "delete"], [5, 8, 2])[0]
        value = b"%d" % next(self._values) if name == "put" else MISSING
        operation = {"put": put_of(key, value or b""), "get": GetEntry(key), "delete": DeleteEntry(key)}[name]
        invoked, result = time.monotonic(), None
        with suppress(BackendUnavailable):
            result = await do(replica.tables, operation)
        returned = time.monotonic()
        match result:
            case StoredEntry(value=found):
                self.histories[key].append(Read(found, invoked, returned))
            case NoEntry():
                self.histories[key].append(Read(MISSING, invoked, returned))
            case Written() | Removed():
                self.histories[key].append(Write(value, invoked, returned))
            case _:
                assert result is None
                self.failures += 1
                if name != "get":
                    self.histories[key].append(Write(value, invoked, NEVER))


async def _upgrade_with_interruptions(replicas, dice: random.Random) -> None:
    """Fails at a random call again and again, on either replica; then goes on to the end."""
    for _ in range(12):
        failing, _ = interrupted(dice.choice(replicas), dice.randrange(60), fail)
        with suppress(BackendUnavailable):
            await _upgrade(failing)
    await _upgrade(replicas[0].tables)


async def _upgrade(tables) -> None:
    cursor, is_over = None, False
    while not is_over:
        cursor = (await tables.upgrade(OLD, cursor, wall_ms())).cursor
        is_over = cursor is None
        await asyncio.sleep(0)


def _old_replica(servers) -> OldReplica:
    masters = servers.nodes if isinstance(servers, Cluster) else [servers]
    return OldReplica(*masters)


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_histories_of_all_keys_are_linearizable(servers, seed):
    old, dice = _old_replica(servers), random.Random(seed)
    old.empty_store()
    for number in range(OTHERS):
        old.put(OLD.keyspace, f"other {number}", b"%d" % number, expires_at_ms=None, now_ms=0)
    async with opened_redis(servers.url) as one, opened_redis(servers.url) as other:
        clients, is_over = _Clients([one, other], seed), asyncio.Event()
        running = asyncio.create_task(clients.run(is_over))
        await _upgrade_with_interruptions([one, other], dice)
        is_over.set()
        await running
        entries = await all_entries(one.tables)
        assert not isinstance(await one.tables.count(OLD, wall_ms()), OldLayout)
    assert {key: first_violation(each) for key, each in clients.histories.items()} == dict.fromkeys(KEYS)
    assert {key: entries[key].value for key in entries if key.startswith("other")} == {
        f"other {number}": b"%d" % number for number in range(OTHERS)
    }


async def test_no_call_is_refused_while_10_000_entries_are_moved():
    with RedisServer() as server, deadlines_of():
        OldReplica(server).fill(OLD.keyspace, {f"other {number}": b"1" for number in range(10_000)})
        async with opened_redis(server.url) as one, opened_redis(server.url) as other:
            clients, is_over = _Clients([one, other], 0), asyncio.Event()
            running = asyncio.create_task(clients.run(is_over))
            await _upgrade(one.tables)
            is_over.set()
            await running
            moved = [key for key in await all_entries(one.tables) if key.startswith("other")]
    assert (clients.failures, len(moved)) == (0, 10_000)
