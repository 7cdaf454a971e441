"""Drives this client through the scenarios of all clients: JSON lines, as `clients/scenarios.yaml` says."""

import asyncio
import base64
import datetime as dt
import json
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kvs_client import AsyncClient, Client, Entry, KvsError, Options

MAKING_SECONDS = 0.2
FIELDS = ("status", "code", "detail", "request_id", "hint", "retry_after_seconds")


class Driver:
    """Runs operations concurrently: tasks for the asynchronous client, threads for the other."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._client: Any = None
        self._made = 0
        self._shown: list[str] = []
        self._running: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            said = json.loads(line)
            task = asyncio.create_task(self._answer(said))
            self._running[said["id"]] = task
            if said["op"] in ("open", "close"):
                await task
        await asyncio.gather(*self._running.values())

    async def _answer(self, said: dict[str, Any]) -> None:
        number, op, began = said.pop("id"), said.pop("op"), time.monotonic()
        try:
            answer = {"result": await getattr(self, f"_op_{op}")(**said)}
        except KvsError as error:
            self._show(error)
            answer = {
                "error": {"type": type(error).__name__} | {name: getattr(error, name) for name in FIELDS}
            }
        except asyncio.CancelledError:
            answer = {"error": {"type": "Cancelled"}}
        except Exception as error:
            answer = {"error": {"type": "Unexpected", "detail": traceback.format_exc() + str(error)}}
        sys.stdout.write(json.dumps({"id": number, **answer, "seconds": time.monotonic() - began}) + "\n")
        sys.stdout.flush()

    def _show(self, error: BaseException) -> None:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        for frame in report.stack:  # variables of this program are not those of the client
            if frame.filename == __file__:
                frame.locals = None
        self._shown += [str(error), repr(error), "".join(report.format())]

    async def _op_open(self, table: str, environment: dict[str, str | None], options: dict[str, Any]) -> None:
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        kind = AsyncClient if self._mode == "async" else Client
        self._made, self._shown = 0, []
        self._client = kind.from_env(table, Options(**options))

    async def _do(self, name: str, prefix: str, *arguments: Any, **options: Any) -> Any:
        client = self._client.with_prefix(prefix) if prefix else self._client
        method = getattr(client, name)
        if self._mode == "async":
            return await method(*arguments, **options)
        return await in_thread(lambda: method(*arguments, **options))

    async def _op_put(
        self, key: str, value: Any, ttl_seconds: Any = None, prefix: str = "", **options: Any
    ) -> None:
        await self._do("put", prefix, key, value, ttl_seconds, **options)

    async def _op_put_raw(
        self, key: str, raw_base64: str, ttl_seconds: Any = None, prefix: str = "", **options: Any
    ) -> None:
        await self._do("put_raw", prefix, key, base64.b64decode(raw_base64), ttl_seconds, **options)

    async def _op_get(self, key: str, prefix: str = "", **options: Any) -> dict[str, Any]:
        return shown_entry(await self._do("get", prefix, key, **options), "value")

    async def _op_get_raw(self, key: str, prefix: str = "", **options: Any) -> dict[str, Any]:
        return shown_entry(await self._do("get_raw", prefix, key, **options), "raw_base64")

    async def _op_delete(self, key: str, prefix: str = "", **options: Any) -> None:
        await self._do("delete", prefix, key, **options)

    async def _op_get_or_set(
        self, key: str, make: Any, ttl_seconds: Any = None, prefix: str = "", **options: Any
    ) -> Any:
        def made() -> Any:
            self._made += 1
            time.sleep(MAKING_SECONDS)
            return make

        async def made_async() -> Any:
            self._made += 1
            await asyncio.sleep(MAKING_SECONDS)
            return make

        making = made_async if self._mode == "async" else made
        return await self._do("get_or_set", prefix, key, making, ttl_seconds, **options)

    async def _op_made(self) -> int:
        return self._made

    async def _op_cancel(self, target: int) -> None:
        self._running[target].cancel()

    async def _op_show(self) -> list[str]:
        return [repr(self._client), str(vars(self._client) if self._client else ""), *self._shown]

    async def _op_close(self) -> None:
        if self._client is not None:
            closing = self._client.close()
            if closing is not None:
                await closing


def shown_entry(entry: Entry | None, name: str) -> dict[str, Any]:
    if entry is None:
        return {"found": False}
    value = entry.value if name == "value" else base64.b64encode(entry.value).decode()
    return {"found": True, name: value, "expires_at": instant(entry.expires_at)}


def instant(moment: dt.datetime | None) -> str | None:
    return moment and moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def in_thread(work: Any) -> Any:
    """Runs each call on its own thread: in a pool some would wait."""
    loop = asyncio.get_running_loop()
    pool = ThreadPoolExecutor(1)
    try:
        return await loop.run_in_executor(pool, work)
    finally:
        pool.shutdown(wait=False)


if __name__ == "__main__":
    asyncio.run(Driver(sys.argv[1]).run())
