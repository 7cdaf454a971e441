"""How managed apps change: compare-and-swap on one document, and the order of what is written around it.

One document holds an app with all its tables, so one swap keeps every rule about them, whatever else
changes the app at the same time (D26). Two kinds of records help, and mean nothing by themselves:

pointer   from a token's digest to its app; a token counts only if the app's document has it, too (D27)
intent    to give back the space of a table; it is carried out only once no app has the table (D29)

Helpers are written before the swap that gives them a meaning, and removed after the swap that ends it. Then a
crash at any point leaves at most a helper without a meaning. In the opposite order it would leave a
token that was issued and never resolves, or entries that nothing ever deletes.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from backends.clock import Clock
from backends.errors import BackendUnavailable
from backends.interface import RecordStore
from backends.walking import walk
from gateway.directory.records import (
    APPS,
    AppRecord,
    ReclaimRecord,
    TableRecord,
    TokenRecord,
    app_name,
    decode,
    encode,
    reclaim_name,
    token_name,
)
from gateway.domain.errors import AppNotFound
from gateway.domain.model import Environment

_ATTEMPTS = 100
_MAX_BACKOFF_SECONDS = 0.02

Change = Callable[[AppRecord], AppRecord]
"""Makes the new document from the current one; may run several times. Raises ControlRefusal."""

Result = TypeVar("Result")


class AppDocuments:
    """The documents of managed apps, with their pointers and intents. All methods raise BackendError."""

    def __init__(self, records: RecordStore, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def find(self, environment: Environment) -> AppRecord:
        """The document. Raises AppNotFound."""
        return (await self._read(environment))[0]

    async def all(self, org: str | None = None) -> AsyncIterator[AppRecord]:
        """Every document, of one organization if named."""
        async for _, record in walk(self._records, APPS if org is None else f"{APPS}{org}/"):
            yield decode(record, AppRecord)

    async def create(self, app: AppRecord) -> bool:
        """Write the first document of an app; False if there is one."""
        return await self._records.swap(app_name(app.environment), encode(app), None)

    async def change(self, environment: Environment, change: Change) -> AppRecord:
        """The document after `change`. Raises AppNotFound, and what `change` raises."""

        async def attempt() -> AppRecord | None:
            app, version = await self._read(environment)
            changed = change(app)
            is_first = await self._records.swap(app_name(environment), encode(changed), version)
            return changed if is_first else None

        return await retry(attempt)

    async def change_with_token(self, environment: Environment, sha256: str, change: Change) -> AppRecord:
        """The same for a change that makes a token valid. The pointer goes again if the change is refused."""
        pointer = token_name(sha256)
        await self.find(environment)
        await self._records.swap(pointer, encode(TokenRecord(environment)), None)
        try:
            return await self.change(environment, change)
        except Exception:
            await self._drop(pointer)
            raise

    async def remove(self, environment: Environment) -> None:
        """Remove the document, and with it the tables. Raises AppNotFound."""

        async def attempt() -> AppRecord | None:
            app, version = await self._read(environment)
            for table in app.tables:
                await self.announce_reclaim(environment, table)
            return app if await self._records.swap(app_name(environment), None, version) else None

        for table in (await retry(attempt)).tables:
            await self.drop_pointers(table.token_digests)

    async def announce_reclaim(self, environment: Environment, table: TableRecord) -> None:
        """Write the intent, anew if there is one.

        A reclaimer that found the table alive is about to drop the earlier intent as abandoned. Its swap
        names the version that it read, so it fails against the one that is written here.
        """
        name = reclaim_name(table.id)

        async def attempt() -> bool | None:
            earlier = await self._records.read(name)
            version = None if earlier is None else earlier.version
            intent = encode(ReclaimRecord(environment, self._clock.wall_ms()))
            return await self._records.swap(name, intent, version) or None

        await retry(attempt)

    async def drop_pointers(self, digests: set[str]) -> None:
        """Remove the pointers of tokens that are void."""
        for sha256 in digests:
            await self._drop(token_name(sha256))

    async def _read(self, environment: Environment) -> tuple[AppRecord, str]:
        record = await self._records.read(app_name(environment))
        if record is None:
            raise AppNotFound
        return decode(record, AppRecord), record.version

    async def _drop(self, name: str) -> None:
        record = await self._records.read(name)
        if record is not None:
            await self._records.swap(name, None, record.version)


async def retry(attempt: Callable[[], Awaitable[Result | None]]) -> Result:
    """What `attempt` returns; None means that another writer was first. Raises BackendUnavailable in the end.

    Backoff with full jitter: writers that lost together must not meet again.
    """
    for _ in range(_ATTEMPTS):
        result = await attempt()
        if result is not None:
            return result
        await asyncio.sleep(random.uniform(0, _MAX_BACKOFF_SECONDS))  # noqa: S311 - no secret
    raise BackendUnavailable("a record of the directory keeps changing")
