"""How a managed app changes: compare-and-swap on one document, and the order of what is written around it.

One document holds an app with all its tables, so one swap keeps every rule about them, whatever else
changes the app at the same time (D26). Two kinds of side records help, and mean nothing by themselves:

pointer   from a token's digest to its app; a token counts only if the app's document has it, too (D27)
intent    to give back the space of a table; it is carried out only once no app has the table (D29)

They are written before the swap that gives them a meaning, and removed after the swap that ends it. Then a
crash at any point leaves at most a side record without a meaning. In the opposite order it would leave a
token that was issued and never resolves, or entries that nothing ever deletes.

The reply to a swap may be lost (D132). So each swap writes an id of its own into the document, which keeps
the last ones, and a swap without a reply is judged by what is read afterwards:

- The document has the id: the swap was applied.
- It has the version that the swap expected: the swap may still be applied, so it is made again; the store
  takes one of the two at most.
- It has the id of the change before the swap, but not its own: the swap was not applied and never will be.

Anything else, and a store that does not answer until the deadline, leaves the outcome unknown.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
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
_KEPT_IDS = 8

Make = Callable[[AppRecord | None], AppRecord | None]
"""The new document, made of the current one; None is no app. May run several times. Raises ControlRefusal."""

Understand = Callable[[str, Record], Awaitable[AppRecord]]
"""The app in a record, by the record's name. Raises BackendError."""


class Changed(Struct, frozen=True):
    """What a change has made of what; None is no app."""

    before: AppRecord | None
    after: AppRecord | None

    @property
    def new_tokens(self) -> set[str]:
        """The SHA-256 of tokens that it makes valid."""
        return _tokens(self.after) - _tokens(self.before)

    @property
    def void_tokens(self) -> set[str]:
        """The SHA-256 of tokens that it ends."""
        return _tokens(self.before) - _tokens(self.after)

    @property
    def gone_tables(self) -> set[str]:
        """The ids of tables that it removes."""
        return _tables(self.before) - _tables(self.after)


class _Sent(Struct, frozen=True):
    """A swap whose reply has not come. `base` is the id of the change before it."""

    changed: Changed
    expected: str | None
    base: str | None


class Change:
    """One change of one app, until its outcome is known."""

    def __init__(
        self, records: RecordStore, environment: Environment, understand: Understand, make: Make
    ) -> None:
        self._records = records
        self._side = SideRecords(records, environment)
        self._name = app_name(environment)
        self._understand = understand
        self._make = make
        self._sent: dict[str, _Sent] = {}

    async def run(self, now_ms: int) -> Changed:
        """The change once it is in force; tokens that have ended by `now_ms` go with it.

        Raises what `make` raises and BackendError, both if nothing was changed, and else ChangeUnknown.
        """
        find_out_until = asyncio.get_running_loop().time() + _FIND_OUT_SECONDS
        for _ in range(_ATTEMPTS):
            pause_seconds = random.uniform(0, _MAX_BACKOFF_SECONDS)  # noqa: S311 - spreads load
            try:
                changed = await self._attempt(now_ms)
                if changed is not None:
                    await self._side.settle(changed.new_tokens, changed.void_tokens, changed.gone_tables)
                    return changed
            except ControlRefusal as refusal:
                await self._side.withdraw_pointers()
                raise self._failure(refusal) from refusal
            except BackendError as error:
                is_over = asyncio.get_running_loop().time() >= find_out_until
                if is_over or not (self._sent or self._side.is_in_doubt):
                    raise self._failure(error) from error
                pause_seconds = jittered(_RETRY_SECONDS)
            await asyncio.sleep(pause_seconds)
        raise self._failure(BackendUnavailable("a record of the directory keeps changing"))

    def _failure(self, error: BackendError | ControlRefusal) -> BackendError | ControlRefusal | ChangeUnknown:
        """`error` tells that nothing was changed, which is not known while a reply is missing."""
        return ChangeUnknown() if self._sent else error

    async def _attempt(self, now_ms: int) -> Changed | None:
        """None if another writer was first."""
        record = await self._records.read(self._name)
        before = None if record is None else await self._understand(self._name, record)
        applied = self._judge_sent(record, before)
        if applied is not None:
            return applied
        after = self._make(None if before is None else before.without_ended_tokens(now_ms))
        changed = Changed(before, after)
        await self._side.announce(changed.new_tokens, changed.gone_tables)
        return await self._swap(record, changed)

    def _judge_sent(self, record: Record | None, now: AppRecord | None) -> Changed | None:
        """The swap without a reply that was applied, if one was. Raises ChangeUnknown."""
        version = None if record is None else record.version
        ids = () if now is None else now.changes
        for own_id, sent in list(self._sent.items()):
            if own_id in ids or (now is None and sent.changed.after is None):
                return sent.changed
            if version == sent.expected:
                continue
            if sent.base not in ids:
                raise ChangeUnknown
            del self._sent[own_id]
        return None

    async def _swap(self, record: Record | None, changed: Changed) -> Changed | None:
        before, after, own_id = changed.before, changed.after, token_hex(8)
        expected = None if record is None else record.version
        earlier = () if before is None else before.changes
        document = None
        if after is not None:
            document = encode(replace(after, changes=(*earlier[1 - _KEPT_IDS :], own_id)))
        self._sent[own_id] = _Sent(changed, expected, earlier[-1] if earlier else None)
        try:
            is_first = await self._records.swap(self._name, document, expected)
        except (BackendMisconfigured, StoreFull):  # the store said no
            del self._sent[own_id]
            raise
        del self._sent[own_id]
        return changed if is_first else None


def _tokens(app: AppRecord | None) -> set[str]:
    return set() if app is None else app.token_digests


def _tables(app: AppRecord | None) -> set[str]:
    return set() if app is None else app.table_ids
