"""The lease: at most one replica at a time reclaims (D161).

The holder swaps the lease record repeatedly. Another replica takes over after it has seen one version of the
record for longer than the lease lasts, by its own monotonic clock: no two clocks are compared.

After a pause of its process, a holder may briefly believe that it still holds the lease while another does.
That costs work and does no harm: a purge removes only unused entries, however often it runs, and every step
of an intent is a swap of the version that was read before its purge began. The old holder notices at its next
swap of the lease, which fails.
"""

from uuid import uuid4

from backends.clock import Clock
from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.records import LEASE, LeaseRecord, PurgeRun, encode

LEASE_MS = 60_000
RENEWED_AFTER_MS = 20_000
"""Two renewals may fail before another replica takes over."""


class Lease:
    """The lease as this replica sees it. Every method raises BackendError."""

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
        """Returns whether it is time to renew."""
        return self._now_ms() - self._renewed_ms >= RENEWED_AFTER_MS

    async def is_elsewhere(self) -> bool:
        """Returns whether another replica holds the lease and may still be working."""
        record = await self._records.read(LEASE)
        version = None if record is None else record.version
        if version != self._seen_version:
            self._seen_version, self._seen_since_ms = version, self._now_ms()
        if record is None or self._is_own(record):
            return False
        return self._now_ms() - self._seen_since_ms < LEASE_MS

    async def take(self) -> LeaseRecord | None:
        """Takes the lease, or takes it over, after `is_elsewhere` returned False.

        Returns it with the run that its last holder left, or None if another replica was faster.
        """
        record = await self._records.read(LEASE)
        if record is not None and not self._may_take(record):
            return None
        found = None if record is None else self._decode(record)
        return await self._swap(record, None if found is None else found.run)

    async def renew(self, run: PurgeRun | None) -> bool:
        """Extends the lease and stores the progress of the run. Returns False if another replica holds it."""
        record = await self._records.read(LEASE)
        if record is None or not self._is_own(record):
            return False
        return await self._swap(record, run) is not None

    async def release(self) -> None:
        """Removes the lease after `is_elsewhere` returned False, unless another replica has taken it."""
        record = await self._records.read(LEASE)
        if record is not None and self._may_take(record):
            await self._records.swap(LEASE, None, record.version)

    async def _swap(self, record: Record | None, run: PurgeRun | None) -> LeaseRecord | None:
        now_ms = self._now_ms()
        found = None if record is None else self._decode(record)
        lease = LeaseRecord(self._holder, 0 if found is None else found.turn + 1, run)
        if not await self._records.swap(LEASE, encode(lease), None if record is None else record.version):
            return None
        self._renewed_ms = now_ms
        return lease

    def _may_take(self, record: Record) -> bool:
        return self._is_own(record) or record.version == self._seen_version

    def _is_own(self, record: Record) -> bool:
        found = self._decode(record)
        return found is not None and found.holder == self._holder

    def _decode(self, record: Record) -> LeaseRecord | None:
        """Returns the lease; None if it is corrupt, so that it is taken over and thereby repaired."""
        try:
            return self._corrupt.decode(LEASE, record, LeaseRecord)
        except CorruptRecord:
            return None
