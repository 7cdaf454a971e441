"""A replica's view of the store, across the network."""

from collections.abc import Callable, Sequence
from typing import Any

from backends.interface import Charge
from backends.sequential import SequentialSteps
from backends.tables import Charges, EntryOperation, GetEntry, ListEntries, Table, always
from lab.simulation.network import Network


class RemoteBackend:
    """A replica's view of the store."""

    name = "simulated"
    clock_lead_seconds = None
    warnings = {}  # noqa: RUF012 - none

    def __init__(self, network: Network) -> None:
        self._network = network
        self.tables = RemoteTables(network)
        self.charged: RemoteSteps | SequentialSteps = RemoteSteps(network)
        self.counters = _Counters(network)
        self.records = RemoteRecords(network)

    async def ping(self) -> None:
        await self._network.ping()

    def apply(self, _: object) -> bool:
        return True

    async def close(self) -> None:
        """Does nothing."""


class RemoteTables:
    """A call that writes is sent once: what was lost may have been applied."""

    def __init__(self, network: Network) -> None:
        self._network, self._store = network, network.store

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> Any:
        may_repeat = isinstance(operation, GetEntry | ListEntries)
        return await self._network.call(
            lambda: self._store.execute(table, operation, now_ms), may_repeat=may_repeat
        )

    async def count(self, table: Table, now_ms: int) -> Any:
        tables = self._store.inner.tables
        return await self._network.call(lambda: tables.count(table, now_ms), may_repeat=True)

    async def drop(self, tables: Sequence[Table]) -> None:
        await self._network.call(lambda: self._store.drop(tables), may_repeat=True)

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        store = self._store.inner.tables
        await self._network.call(lambda: store.tidy(tables, now_ms), may_repeat=True)


class RemoteSteps:
    """Charges and operations in one call, which is sent once."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Any:
        store = self._network.store
        return await self._network.call(
            lambda: store.step(charges, table, operations, now_ms), may_repeat=False
        )


class _Counters:
    """A charge that arrives twice costs its tenant one call, and admits no extra call."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def charge(self, bucket: str, limit: int, window_ms: int, amount: int = 1) -> Any:
        store = self._network.store
        return await self._network.call(
            lambda: store.charge(bucket, limit, window_ms, amount), may_repeat=True
        )

    async def refund(self, bucket: str, charge: Charge, amount: int) -> None:
        counters = self._network.store.inner.counters
        await self._network.call(lambda: counters.refund(bucket, charge, amount), may_repeat=False)


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
