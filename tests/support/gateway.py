"""A gateway that runs inside the test, with real sockets, and what a client does with it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import yaml

from backends import open_backend
from gateway.app import App, build_app
from gateway.config.loading import parse
from gateway.replica.run import Replica
from tests.support.clock import FakeClock
from tests.support.config import BASE, CONTROL_TOKEN, TABLE_TOKEN, merged
from tests.support.signing import Signer
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.stores import Faults, FaultyBackend


@dataclass(frozen=True)
class Reply:
    """An HTTP response, read to its end."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str | None:
        return self.json.get("error")


class Gateway:
    """One running replica. Time is `clock`'s, the stores' faults are `faults`'."""

    def __init__(self, app: App, replica: Replica, clock: FakeClock, faults: Faults, http) -> None:
        self.app, self.replica, self.clock, self.faults, self._http = app, replica, clock, faults, http
        self.signer = Signer()
        self.data, self.ops, self.control = (replica.urls[name] for name in ("data", "ops", "control"))

    async def call(
        self,
        operation: str,
        body: Any,
        *,
        token: str | None = TABLE_TOKEN,
        signer: Signer | str | None = "own",
        headers: dict[str, str] | None = None,
        path: str | None = None,
    ) -> Reply:
        """One signed call. `body` is bytes as sent, or anything that is written as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = self.data + (path or f"/v1/{operation}")
        fields = {"Content-Type": "application/json"}
        if token is not None:
            fields["X-KVS-Authorization"] = f"Bearer {token}"
        fields |= headers or {}
        if signer == "own":
            signer = self.signer
        if signer is not None:
            fields = signer.sign(url, content, fields, at_seconds=self.clock.wall_ms() / 1000)
        return await self._send("POST", url, content, fields)

    async def put(self, key: str, value: Any, ttl_seconds: int | None = None, **options) -> Reply:
        body = {"key": key, "value": value}
        if ttl_seconds is not None:
            body["ttlSeconds"] = ttl_seconds
        return await self.call("put", body, **options)

    async def get(self, key: str, **options) -> Reply:
        return await self.call("get", {"key": key}, **options)

    async def delete(self, key: str, **options) -> Reply:
        return await self.call("delete", {"key": key}, **options)

    async def manage(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = CONTROL_TOKEN,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One call of the control listener."""
        fields = dict(headers or {})
        if token is not None:
            fields["Authorization"] = f"Bearer {token}"
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return await self._send(method, self.control + path, content, fields)

    async def fetch(
        self, method: str, path: str, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """One request of the credentials listener."""
        return await self._send(method, self.replica.urls["credentials"] + path, content, headers or {})

    async def ask_ops(self, path: str, method: str = "GET") -> Reply:
        """One call of the ops listener, whose answer is not compressed."""
        return await self._send(method, self.ops + path, None, {"Accept-Encoding": "identity"})

    async def metrics(self) -> dict[str, float]:
        """Every sample of `/metrics`, by its name and labels as written."""
        text = (await self.ask_ops("/metrics")).body.decode()
        samples = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {series: float(value) for series, value in samples}

    async def send_raw(
        self, data: bytes, *, listener: str = "data", seconds: float = PATIENCE_SECONDS
    ) -> bytes:
        """Everything that comes back on a new connection until the server closes it or `seconds` are over."""
        reader, writer = await self.connect(listener)
        received = b""
        try:
            async with asyncio.timeout(seconds):
                writer.write(data)
                await writer.drain()
                while chunk := await reader.read(65536):
                    received += chunk
        except (TimeoutError, ConnectionError):
            return received
        finally:
            writer.close()
        return received

    async def connect(self, listener: str = "data") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self.replica.urls[listener].removeprefix("http://").split(":")
        return await asyncio.open_connection(host, int(port))

    async def _send(self, method: str, url: str, content: bytes | None, headers: dict[str, str]) -> Reply:
        async with self._http.request(
            method, url, data=content, headers=headers, skip_auto_headers={"User-Agent", "Accept"}
        ) as response:
            return Reply(response.status, response.headers, await response.read())


@asynccontextmanager
async def run_gateway(
    changes: dict[str, Any] | None = None, *, clock: Any = None, faults: Faults | None = None
) -> AsyncIterator[Gateway]:
    """Run a gateway on the base configuration with `changes`, and with `faults` from the start."""
    clock = clock or FakeClock()
    faults = faults or Faults()

    async def open_store(settings, clock):
        return FaultyBackend(await open_backend(settings, clock), faults)

    settings = parse(yaml.dump(merged(BASE, changes or {}), Dumper=yaml.CSafeDumper), {})
    app = await build_app(settings, clock, open_store)
    async with app.replica.running(), aiohttp.ClientSession(auto_decompress=False) as http:
        yield Gateway(app, app.replica, clock, faults, http)
