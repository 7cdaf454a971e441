"""Changes of a managed app: compare-and-swap on one document, and the order of the writes around it.

One document holds an app with all its tables, so each swap can uphold every rule about them, even while other
changes of the app run (D26). Two kinds of side records exist only for the sake of the document:

pointer   from a token's digest to its app; a token is valid only if the app's document has it (D27)
intent    to give back the space of a table; it is carried out only after the app has lost the table (D133)

A side record is written before the swap that puts it to use, and removed after the swap that makes it
obsolete. A crash at any point therefore leaves at most an unused side record. The opposite order would leave
an issued token that never resolves, or entries that nothing ever deletes.

The reply to a swap may be lost (D132). Each swap therefore writes its own id into the document, which keeps
the last eight, and a swap without a reply is judged by the document read afterwards:

- The document has the id: the swap was applied.
- It has the version that the swap expected: the swap may still be applied, so it is made again; the store
  accepts at most one of the two.
- It has the id of the change before the swap, but not its own: the swap was not applied and never will be.

In any other case, and if the store does not answer until the deadline, the outcome is unknown.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from math import inf
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from backends.background import jittered
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable, StoreFull
from backends.interface import Record, RecordStore
from gateway.directory.apps.side_records import SideRecords
from gateway.directory.errors import ChangeUnknown, ControlRefusal
from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment

_ATTEMPTS = 100
_MAX_BACKOFF_SECONDS = 0.02
_FIND_OUT_SECONDS = 5.0
_RETRY_SECONDS = 0.1
_REPEATED_SECONDS = 1.0
"""Age from which an attempt that lost to another writer is not repeated: this process may have stood still,
and the caller may have changed the app elsewhere since (D19). The swap of a younger attempt undoes no such
change."""

_KEPT_IDS = 8

Mutation = Callable[[AppRecord | None], AppRecord | None]
"""Returns the next document, given the current one; None means no app. Runs once per attempt.

Raises ControlRefusal.
"""

DecodeRecord = Callable[[str, Record], Awaitable[AppRecord]]
"""Decodes the app in the record of a name. Raises BackendError."""


class AppDiff(Struct, frozen=True):
    """The app before and after a change; None means no app."""

    before: AppRecord | None
    after: AppRecord | None

    @property
    def new_tokens(self) -> set[str]:
        """SHA-256 of the tokens that become valid."""
        return _tokens(self.after) - _tokens(self.before)

    @property
    def void_tokens(self) -> set[str]:
        """SHA-256 of the tokens that end."""
        return _tokens(self.before) - _tokens(self.after)

    @property
    def gone_tables(self) -> set[str]:
        """Ids of the tables that are removed."""
        return _tables(self.before) - _tables(self.after)


class _Sent(Struct, frozen=True):
    """A swap without a reply yet. `base` is the id of the change before it."""

    diff: AppDiff
    expected: str | None
    base: str | None


class DocumentChange:
    """One change of one app document, until its outcome is known."""

    def __init__(
        self,
        records: RecordStore,
        environment: Environment,
        decode: DecodeRecord,
        mutation: Mutation,
        now_seconds: Callable[[], float],
    ) -> None:
        self._records = records
        self._side = SideRecords(records, environment)
        self._name = app_name(environment)
        self._decode = decode
        self._mutation = mutation
        self._now_seconds = now_seconds
        self._too_old_from = inf
        self._sent: dict[str, _Sent] = {}

    async def run(self, now_ms: int) -> AppDiff:
        """Applies the change; also drops tokens that have ended by `now_ms`.

        Raises the refusal of the mutation or BackendError if nothing was changed, else ChangeUnknown.
        """
        find_out_until = asyncio.get_running_loop().time() + _FIND_OUT_SECONDS
        for _ in range(_ATTEMPTS):
            began = self._now_seconds()
            pause_seconds = random.uniform(0, _MAX_BACKOFF_SECONDS)  # noqa: S311 - spreads load
            try:
                diff = await self._attempt(now_ms)
                if diff is not None:
                    await self._side.settle(diff.new_tokens, diff.void_tokens, diff.gone_tables)
                    return diff
            except ControlRefusal as refusal:
                await self._side.withdraw_pointers()
                raise self._failure(refusal) from refusal
            except BackendError as error:
                is_over = asyncio.get_running_loop().time() >= find_out_until
                if is_over or not (self._sent or self._side.is_in_doubt):
                    raise self._failure(error) from error
                pause_seconds = jittered(_RETRY_SECONDS)
            self._too_old_from = began + _REPEATED_SECONDS
            await asyncio.sleep(pause_seconds)
        raise self._failure(BackendUnavailable("a record of the directory keeps changing"))

    def _failure(self, error: BackendError | ControlRefusal) -> BackendError | ControlRefusal | ChangeUnknown:
        """Returns `error`, since nothing was changed, or ChangeUnknown if a reply is missing."""
        return ChangeUnknown() if self._sent else error

    async def _attempt(self, now_ms: int) -> AppDiff | None:
        """Reads, mutates and swaps once. Returns None if another writer was first."""
        record = await self._records.read(self._name)
        before = None if record is None else await self._decode(self._name, record)
        applied = self._judge_sent(record, before)
        if applied is not None:
            return applied
        if not self._sent and self._now_seconds() > self._too_old_from:
            raise BackendUnavailable("the change was overtaken, and is too old to be repeated")
        after = self._mutation(None if before is None else before.without_ended_tokens(now_ms))
        diff = AppDiff(before, after)
        await self._side.announce(diff.new_tokens, diff.gone_tables)
        return await self._swap(record, diff)

    def _judge_sent(self, record: Record | None, now: AppRecord | None) -> AppDiff | None:
        """Returns the diff of an earlier swap that was applied and whose reply was lost, else None.

        Raises ChangeUnknown if nobody can know.
        """
        version = None if record is None else record.version
        ids = () if now is None else now.changes
        for own_id, sent in list(self._sent.items()):
            # A removal leaves no document to hold its id. If the app is gone, then by this removal or another
            # one: the caller asked for exactly this state.
            if own_id in ids or (now is None and sent.diff.after is None):
                return sent.diff
            # The expected version is still there: the swap may yet arrive. The repetition expects the same
            # version, so the store applies only one of the two; both ids are judged again by the next read.
            if version == sent.expected:
                continue
            # Another version, without our id. If the id before ours is still kept, the document's history did
            # not pass through our swap. If that id is gone as well, more than eight changes may have pushed
            # ours out, or an old master had applied it and its history was lost: nobody can know.
            if sent.base not in ids:
                raise ChangeUnknown
            del self._sent[own_id]
        return None

    async def _swap(self, record: Record | None, diff: AppDiff) -> AppDiff | None:
        before, after, own_id = diff.before, diff.after, token_hex(8)
        expected = None if record is None else record.version
        earlier = () if before is None else before.changes
        document = None
        if after is not None:
            document = encode(replace(after, changes=(*earlier[1 - _KEPT_IDS :], own_id)))
        self._sent[own_id] = _Sent(diff, expected, earlier[-1] if earlier else None)
        try:
            is_first = await self._records.swap(self._name, document, expected)
        except (BackendMisconfigured, StoreFull):  # the store refused it
            del self._sent[own_id]
            raise
        del self._sent[own_id]
        return diff if is_first else None


def _tokens(app: AppRecord | None) -> set[str]:
    return set() if app is None else app.token_digests


def _tables(app: AppRecord | None) -> set[str]:
    return set() if app is None else app.table_ids
