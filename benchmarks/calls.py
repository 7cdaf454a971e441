"""CPU time of this process per call of DynamoDB, through the gateway's store and through aiobotocore."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from time import process_time
from typing import Any

import msgspec
import uvloop
from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

from backends import DynamoSettings, open_backend
from backends.clock import SystemClock
from backends.errors import BackendUnavailable
from backends.interface import Keyspace
from backends.tables import DeleteEntry, EntryOperation, GetEntry, PutEntry, Revisions, StoredEntry, Table
from benchmarks.exchange import VALUE

AT_ONCE = 64
_WARM_UP_CALLS = 2000
_TABLE, _REGION = "kvs", "eu-central-1"
_WINDOW_MS = 60_000

Call = Callable[[], Awaitable[object]]


async def _microseconds(call: Call, calls: int) -> float:
    async def repeat(times: int) -> None:
        for _ in range(times):
            await call()

    async def all_at_once(total: int) -> None:
        await asyncio.gather(*(repeat(total // AT_ONCE) for _ in range(AT_ONCE)))

    await all_at_once(_WARM_UP_CALLS)
    started = process_time()
    await all_at_once(calls)
    return (process_time() - started) / (calls // AT_ONCE * AT_ONCE) * 1e6


async def _of_the_store(url: str, calls: int) -> dict[str, float]:
    store = await open_backend(DynamoSettings(table=_TABLE, region=_REGION, endpoint_url=url), SystemClock())
    await _until_it_answers(store.ping)
    now_ms = SystemClock().wall_ms()
    table = Table("o/a/e", Keyspace("t"))
    put = PutEntry("user:1", StoredEntry(VALUE, now_ms + _WINDOW_MS, Revisions().next()))

    def execute(operation: EntryOperation) -> Awaitable[object]:
        return store.tables.execute(table, operation, now_ms)

    measured: dict[str, Call] = {
        "put": lambda: execute(put),
        "get": lambda: execute(GetEntry("user:1")),
        "delete": lambda: execute(DeleteEntry("user:1")),
        "charge": lambda: store.counters.charge("o/a/e", 10**9, _WINDOW_MS),
    }
    costs = {name: await _microseconds(call, calls) for name, call in measured.items()}
    await store.close()
    return costs


async def _of_aiobotocore(url: str, calls: int) -> dict[str, float]:
    config = AioConfig(max_pool_connections=AT_ONCE, retries={"total_max_attempts": 1})
    async with AioSession().create_client(
        "dynamodb", region_name=_REGION, endpoint_url=url, config=config
    ) as client:
        key = {"pk": {"S": "e#t#0"}, "sk": {"S": "user:1"}}
        at: dict[str, Any] = {"TableName": _TABLE, "Key": key}
        update = {"UpdateExpression": "SET n = n + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        measured: dict[str, Call] = {
            "put": lambda: client.put_item(TableName=_TABLE, Item={**key, "v": {"B": VALUE}}),
            "get": lambda: client.get_item(**at, ConsistentRead=True),
            "delete": lambda: client.delete_item(**at),
            "charge": lambda: client.update_item(**at, **update, ReturnValues="ALL_NEW"),
        }
        return {name: await _microseconds(call, calls) for name, call in measured.items()}


async def _until_it_answers(ping: Call) -> None:
    for _ in range(100):
        try:
            await ping()
        except BackendUnavailable:
            await asyncio.sleep(0.05)
        else:
            return
    raise SystemExit("the canned endpoint does not answer")


async def _run(client: str, url: str, calls: int) -> dict[str, float]:
    return await (_of_the_store if client == "gateway" else _of_aiobotocore)(url, calls)


if __name__ == "__main__":
    costs = uvloop.run(_run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    print(msgspec.json.encode(costs).decode())
