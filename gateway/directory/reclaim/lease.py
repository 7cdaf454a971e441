"""A lease: at most one replica at a time does a kind of background work (D161).

The holder swaps the lease record repeatedly. Another replica takes over after it has seen one version of the
record for longer than the lease lasts, by its own monotonic clock: no two clocks are compared.

After a pause of its process, a holder may briefly believe that it still holds the lease while another does.
That costs work and does no harm: all work under a lease may be repeated, also by two replicas at once. The
old holder notices at its next swap of the lease, which fails.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4

from backends.clock import Clock
from backends.errors import BackendError
from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import LeaseRecord, encode

LEASE_MS = 60_000
RENEWALS = 3
"""Renewals within the lease. Two may fail before another replica takes over."""


class LeaseLost(Exception):
    """Another replica holds the lease."""


class Lease:
    """The lease `name` as this replica sees it. Its methods raise BackendError."""

    def __init__(
        self, records: RecordStore, corrupt: CorruptRecords, clock: Clock, name: str, lasts_ms: int = LEASE_MS
    ) -> None:
        self._records = records
        self._corrupt = corrupt
        self._now_ms = clock.monotonic_ms
        self._name = name
        self._lasts_ms = lasts_ms
        self._holder = uuid4().hex
        self._seen_version: str | None = None
        self._seen_since_ms = 0
        self._renewed_ms = 0

    async def is_elsewhere(self) -> bool:
        """Returns whether another replica holds the lease and may still be working."""
        record = await self._records.read(self._name)
        version = None if record is None else record.version
        if version != self._seen_version:
            self._seen_version, self._seen_since_ms = version, self._now_ms()
        if record is None or self._is_own(record):
            return False
        return self._now_ms() - self._seen_since_ms < self._lasts_ms

    async def take(self) -> bool:
        """Takes the lease, or takes it over, after `is_elsewhere` returned False.

        Returns False if another replica was faster.
        """
        record = await self._records.read(self._name)
        return (record is None or self._may_take(record)) and await self._swap(record)

    async def renew(self) -> None:
        """Extends the lease. Raises LeaseLost if another replica holds it."""
        record = await self._records.read(self._name)
        if record is None or not self._is_own(record) or not await self._swap(record):
            raise LeaseLost

    async def renew_if_due(self) -> None:
        """Extends the lease if it is time. Raises LeaseLost if another replica holds it."""
        if (self._now_ms() - self._renewed_ms) * RENEWALS >= self._lasts_ms:
            await self.renew()

    async def during(self, work: Coroutine[Any, Any, None]) -> None:
        """Does some work and renews the lease meanwhile. Raises the error of the work, or LeaseLost.

        A renewal that fails is no reason to stop.
        """
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([task], timeout=self._lasts_ms / 1000 / RENEWALS))[0]:
                with suppress(BackendError):
                    await self.renew()
        except BaseException:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        task.result()

    async def release(self) -> None:
        """Removes the lease after `is_elsewhere` returned False, unless another replica has taken it."""
        record = await self._records.read(self._name)
        if record is not None and self._may_take(record):
            await self._records.swap(self._name, None, record.version)

    async def _swap(self, record: Record | None) -> bool:
        now_ms = self._now_ms()
        found = None if record is None else self._decode(record)
        lease = LeaseRecord(self._holder, 0 if found is None else found.turn + 1)
        version = None if record is None else record.version
        is_done = await self._records.swap(self._name, encode(lease), version)
        self._renewed_ms = now_ms if is_done else self._renewed_ms
        return is_done

    def _may_take(self, record: Record) -> bool:
        return self._is_own(record) or record.version == self._seen_version

    def _is_own(self, record: Record) -> bool:
        found = self._decode(record)
        return found is not None and found.holder == self._holder

    def _decode(self, record: Record) -> LeaseRecord | None:
        """Returns the lease; None if it is corrupt, so that it is taken over and thereby repaired."""
        try:
            return self._corrupt.decode(self._name, record, LeaseRecord)
        except CorruptRecord:
            return None
