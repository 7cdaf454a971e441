"""A replica's view of the store, across the network."""

from typing import Any

from backends.interface import Entry, Keyspace
from lab.simulation.network import Network


class RemoteBackend:
    """A replica's view of the store."""

    name = "simulated"
    clock_lead_seconds = None
    warnings = {}  # noqa: RUF012 - none

    def __init__(self, network: Network) -> None:
        self._network = network
        self.entries = _Entries(network)
        self.counters = _Counters(network)
        self.records = RemoteRecords(network)

    async def ping(self) -> None:
        await self._network.ping()

    def apply(self, _: object) -> bool:
        return True

    async def close(self) -> None:
        """Does nothing."""


class _Entries:
    def __init__(self, network: Network) -> None:
        self._network, self._store = network, network.store
        self._entries = network.store.inner.entries

    async def put(self, keyspace: Keyspace, key: str, entry: Entry) -> None:
        await self._network.call(lambda: self._store.put(keyspace, key, entry), may_repeat=False)

    async def get(self, keyspace: Keyspace, key: str) -> Entry | None:
        return await self._network.call(lambda: self._entries.get(keyspace, key), may_repeat=True)

    async def delete(self, keyspace: Keyspace, key: str) -> None:
        await self._network.call(lambda: self._entries.delete(keyspace, key), may_repeat=False)

    async def purge(self, keyspaces: Any, cursor: str | None) -> Any:
        return await self._network.call(lambda: self._entries.purge(keyspaces, cursor), may_repeat=True)


class _Counters:
    """A charge that arrives twice costs its tenant one call, and admits no extra call."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def charge(self, bucket: str, limit: int, window_ms: int) -> Any:
        store = self._network.store
        return await self._network.call(lambda: store.charge(bucket, limit, window_ms), may_repeat=True)


class RemoteRecords:
    """Records of the server that the replica takes for the master."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def read(self, name: str) -> Any:
        records = self._network.records
        return await self._network.call(lambda: records.read(name), may_repeat=True, operation=f"read {name}")

    async def swap(self, name: str, document: bytes | None, expected: str | None) -> bool:
        records = self._network.records
        return await self._network.call(lambda: records.swap(name, document, expected), may_repeat=False)

    async def page(self, prefix: str, *, after: str, limit: int) -> Any:
        records = self._network.records
        return await self._network.call(
            lambda: records.page(prefix, after=after, limit=limit), may_repeat=True, operation="page"
        )

    async def changes(self, position: str | None) -> Any:
        records = self._network.records
        return await self._network.call(lambda: records.changes(position), may_repeat=True)
