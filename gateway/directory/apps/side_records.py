"""Pointers and intents: the records around an app document. `changes` says when they are written and why."""

from contextlib import suppress

from backends.errors import BackendError, BackendUnavailable
from backends.interface import RecordStore
from gateway.directory.records import (
    ReclaimRecord,
    TokenRecord,
    encode,
    reclaim_name,
    token_name,
)
from gateway.domain.model import Environment

_ATTEMPTS = 100


class SideRecords:
    """The pointers and intents of one change of an app. Writing and removing them is idempotent."""

    def __init__(self, records: RecordStore, environment: Environment) -> None:
        self._records = records
        self._environment = environment
        self._announced: set[str] = set()
        self.is_in_doubt = False
        """True if the reply to a swap of a pointer or an intent was lost."""

    async def announce(self, tokens: set[str], doomed_tables: set[str]) -> None:
        """Writes the pointers of new tokens and the intents of doomed tables. Raises BackendError."""
        try:
            for sha256 in sorted(tokens):
                self._announced.add(sha256)
                await self._write_pointer(sha256)
            for table_id in sorted(doomed_tables):
                await self._write_intent(reclaim_name(table_id))
        except BackendUnavailable:
            self.is_in_doubt = True
            raise
        self.is_in_doubt = False

    async def withdraw_pointers(self) -> None:
        """Removes the pointers of a change that was refused."""
        with suppress(BackendError):
            await self._drop_pointers(self._announced)

    async def settle(self, new_tokens: set[str], void_tokens: set[str], gone_tables: set[str]) -> None:
        """Completes an applied change: every new token has a pointer, every removed table an intent.

        The records that `announce` wrote may be lost: by a failover before the swap of the document (D132),
        or because the change paused for so long that a reclaimer dropped the intent as abandoned. Pointers of
        void tokens are removed; one that remains because the store fails is harmless.
        """
        with suppress(BackendError):
            for sha256 in sorted(new_tokens):
                if await self._records.read(token_name(sha256)) is None:
                    await self._write_pointer(sha256)
            for table_id in sorted(gone_tables):
                if await self._records.read(reclaim_name(table_id)) is None:
                    await self._write_intent(reclaim_name(table_id))
            await self._drop_pointers(void_tokens)

    async def _write_pointer(self, sha256: str) -> None:
        """Writes the pointer unless it exists."""
        await self._records.swap(token_name(sha256), encode(TokenRecord(self._environment)), None)

    async def _drop_pointers(self, digests: set[str]) -> None:
        for sha256 in sorted(digests):
            name = token_name(sha256)
            record = await self._records.read(name)
            if record is not None:
                await self._records.swap(name, None, record.version)

    async def _write_intent(self, name: str) -> None:
        """Writes the intent, as a new version even if it exists.

        A reclaimer that saw the table alive may be about to drop the earlier intent as abandoned. Its swap
        expects the version that it read, so the new version makes that swap fail.
        """
        intent = encode(ReclaimRecord(self._environment))
        for _ in range(_ATTEMPTS):
            earlier = await self._records.read(name)
            version = None if earlier is None else earlier.version
            if await self._records.swap(name, intent, version):
                return
        raise BackendUnavailable("an intent of the directory keeps changing")
