"""The lease: one replica at a time reclaims (D161).

The holder swaps the record again and again while it has it. Another replica takes it over when it has seen
one version of it for longer than the lease lasts, by its own monotonic clock: no two clocks are compared.

For a moment two may believe that they hold it, one of them after a pause of its process. That costs work and
harms nothing: a purge removes what nobody uses, however often, and every step from one state of an intent to
the next is a swap of the version that was read before the purge began. A swap of the lease that fails tells
the one whose time is over.
"""

from uuid import uuid4

from backends.clock import Clock
from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import LEASE, LeaseRecord, Walk, encode

LEASE_MS = 60_000
RENEWED_AFTER_MS = 20_000
"""Two renewals may fail before another replica takes over."""


class Lease:
    """As this replica sees it. Every method raises BackendError."""

    def __init__(self, records: RecordStore, corrupt: CorruptRecords, clock: Clock) -> None:
        self._records = records
        self._corrupt = corrupt
        self._now_ms = clock.monotonic_ms
        self._holder = uuid4().hex
        self._seen_version: str | None = None
        self._seen_since_ms = 0
        self._renewed_ms = 0

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew it."""
        return self._now_ms() - self._renewed_ms >= RENEWED_AFTER_MS

    async def is_elsewhere(self) -> bool:
        """Whether another replica has it and may still be working."""
        record = await self._records.read(LEASE)
        version = None if record is None else record.version
        if version != self._seen_version:
            self._seen_version, self._seen_since_ms = version, self._now_ms()
        if record is None or self._is_own(record):
            return False
        return self._now_ms() - self._seen_since_ms < LEASE_MS

    async def take(self) -> LeaseRecord | None:
        """Take it, or take it over, after `is_elsewhere` said no; None: another one was faster.

        What it returns tells the walk that its last holder left behind.
        """
        record = await self._records.read(LEASE)
        if record is not None and not self._may_have(record):
            return None
        found = None if record is None else self._document(record)
        walk = None if found is None else found.walk
        return await self._swap(record, walk)

    async def renew(self, walk: Walk | None) -> bool:
        """Say that this replica goes on, and how far it is; False: another one has it now."""
        record = await self._records.read(LEASE)
        if record is None or not self._is_own(record):
            return False
        return await self._swap(record, walk) is not None

    async def release(self) -> None:
        """Remove it, after `is_elsewhere` said no, if nobody has taken it since."""
        record = await self._records.read(LEASE)
        if record is not None and self._may_have(record):
            await self._records.swap(LEASE, None, record.version)

    async def _swap(self, record: Record | None, walk: Walk | None) -> LeaseRecord | None:
        now_ms = self._now_ms()
        found = None if record is None else self._document(record)
        lease = LeaseRecord(self._holder, 0 if found is None else found.turn + 1, walk)
        if not await self._records.swap(LEASE, encode(lease), None if record is None else record.version):
            return None
        self._renewed_ms = now_ms
        return lease

    def _may_have(self, record: Record) -> bool:
        return self._is_own(record) or record.version == self._seen_version

    def _is_own(self, record: Record) -> bool:
        found = self._document(record)
        return found is not None and found.holder == self._holder

    def _document(self, record: Record) -> LeaseRecord | None:
        """A corrupt one is nobody's: it is taken over, and so written anew."""
        try:
            return self._corrupt.decode(LEASE, record, LeaseRecord)
        except CorruptRecord:
            return None
