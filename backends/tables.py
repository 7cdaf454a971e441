"""Contents of a table: operations on its entries, their results, and the two ports that execute them.

`ChargedStore` is the port of the request path: operations come with their charges, and both are one atomic
step where counters and entries share a store. `TableStore` serves calls that are not charged: those of
operators, copies, reclaiming.

Duties of every implementation, beside those in `interface.py`:

- An entry whose `expires_at_ms` is not after `now_ms` is missing: in answers, conditions, lists and counts.
- Every write gives its entry the revision in the operation, which nobody uses twice.
- Conditions are judged before the storage limit. An operation that is not done changes nothing.
"""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import NewType, Protocol

from msgspec import Struct

from backends.interface import Charge, Keyspace

Revision = NewType("Revision", str)
"""The identity of one write: 22 letters, digits, `-` and `_`. Opaque to stores and callers."""

_REVISION_DIGITS = 22
_DRAWN = 500
"""Revisions drawn by one system call, which costs as much as a dozen of them."""

LARGEST_INTEGER = 9_007_199_254_740_991
"""Integers that JavaScript and Lua count exactly (2^53 - 1)."""


class Revisions:
    """Revisions that no other writer gives: 88 random bits each, drawn for many writes at once.

    A counter in the store would repeat itself after a failover that lost its last writes. A counter in the
    process would tell every tenant how much the others write.
    """

    def __init__(self) -> None:
        self._digits = ""
        self._at = 0

    def next(self) -> Revision:
        at = self._at
        if at == len(self._digits):
            self._digits, at = token_hex(_DRAWN * _REVISION_DIGITS // 2), 0
        self._at = at + _REVISION_DIGITS
        return Revision(self._digits[at : self._at])


class Table(Struct, frozen=True, cache_hash=True, gc=False):
    """The place of a table in the store.

    All tables of one app environment have the same `home`, which the store may keep in one place, and share
    its storage limit: `max_bytes` of keys (UTF-8) and values of live entries.
    """

    home: str
    keyspace: Keyspace
    max_bytes: int | None = None


class Condition(Struct, frozen=True, gc=False):
    """A demand on the live entry: that there is one, or none (`exists`), or that it has `revision`."""

    exists: bool | None = None
    revision: str | None = None


ANY = Condition()
ABSENT = Condition(exists=False)
PRESENT = Condition(exists=True)


class StoredEntry(Struct, frozen=True, gc=False):
    """A live entry: opaque bytes, the millisecond from which it is expired, the write that made it."""

    value: bytes
    expires_at_ms: int | None
    revision: Revision


# ---- Operations


class GetEntry(Struct, frozen=True, gc=False):
    """Reads an entry. Result: `StoredEntry` or `NoEntry`."""

    key: str


class PutEntry(Struct, frozen=True, gc=False):
    """Replaces value, expiry and revision together. Result: `Written`, `Unmet` or `NoRoom`."""

    key: str
    entry: StoredEntry
    condition: Condition = ANY


class DeleteEntry(Struct, frozen=True, gc=False):
    """Removes an entry, if any. Result: `Removed` or `Unmet`."""

    key: str
    condition: Condition = ANY


class TouchEntry(Struct, frozen=True, gc=False):
    """Gives a live entry another expiry and revision. Result: `Written`, `NoEntry`, or `Unmet`.

    Without an entry a condition is unmet; without a condition there is nothing to touch.
    """

    key: str
    expires_at_ms: int | None
    revision: Revision
    condition: Condition = ANY


class AddToEntry(Struct, frozen=True, gc=False):
    """Adds `by` to the integer under a key. Result: `Sum`, `NotInteger` or `NoRoom`.

    A missing entry counts as 0; only then `expires_at_ms` applies. Neither the entry nor the sum may pass
    `LARGEST_INTEGER` in either direction. The value is a JSON integer without fraction or exponent.
    """

    key: str
    by: int
    expires_at_ms: int | None
    revision: Revision


class ListEntries(Struct, frozen=True, gc=False):
    """Lists live entries in order of their keys' UTF-8, from behind `after` on. Result: `Page`.

    `has_values` asks for values. A page ends after `limit` entries, or with the entry that fills `page_bytes`
    of keys and values; it may end sooner.
    """

    prefix: str
    after: str
    limit: int
    has_values: bool
    page_bytes: int


EntryOperation = GetEntry | PutEntry | DeleteEntry | TouchEntry | AddToEntry | ListEntries


# ---- Results


class NoEntry(Struct, frozen=True, gc=False):
    """There is no live entry under the key."""


class Written(Struct, frozen=True, gc=False):
    """The entry is stored, with this revision."""

    revision: Revision


class Removed(Struct, frozen=True, gc=False):
    """There is no entry under the key any more."""


class Unmet(Struct, frozen=True, gc=False):
    """The condition does not hold. `revision` is that of the live entry; None if there is none."""

    revision: Revision | None


class NoRoom(Struct, frozen=True, gc=False):
    """The home's storage limit leaves no room for the entry."""


class OldLayout(Struct, frozen=True, gc=False):
    """The table has a layout without this operation: an operator must upgrade it. Nothing was done."""


class NotInteger(Struct, frozen=True, gc=False):
    """The value is not an integer in range, or the sum would not be."""


class Sum(Struct, frozen=True, gc=False):
    """The integer now stored."""

    value: int
    expires_at_ms: int | None
    revision: Revision


class Page(Struct, frozen=True, gc=False):
    """Entries by key. `after` is where the next page begins; None on the last one.

    Without values each entry's value is empty.
    """

    entries: tuple[tuple[str, StoredEntry], ...]
    after: str | None


class Failed(Struct, frozen=True, gc=False):
    """The store failed at this operation of a batch, which may have been applied; others have their results.

    A store that fails at the first of them, or at the only one, raises `BackendError`.
    """


FAILED = Failed()

EntryResult = (
    StoredEntry | NoEntry | Written | Removed | Unmet | NoRoom | NotInteger | Sum | Page | OldLayout | Failed
)


# ---- Charges


class Budget(Struct, frozen=True, cache_hash=True, gc=False):
    """The name of a window's counter, and the number of charges that it admits per window."""

    bucket: str
    limit: int


class Charges(Struct, frozen=True, gc=False):
    """The cost of a step: `amount` of each budget, at least one budget, in order.

    The first budget that does not admit the whole amount refuses the step. A refused step charges nothing.
    """

    budgets: tuple[Budget, *tuple[Budget, ...]]
    window_ms: int
    amount: int = 1


class Refused(Struct, frozen=True, gc=False):
    """A budget did not admit the charge; nothing else was done."""

    budget: Budget
    charge: Charge


class Done(Struct, frozen=True, gc=False):
    """All budgets admitted the charge. One result for each operation.

    `charges` are empty if the counters failed, and the store may go on without them.
    """

    charges: tuple[Charge, ...]
    results: tuple[EntryResult, ...]


Step = Refused | Done


class TableCount(Struct, frozen=True, gc=False):
    """Live entries of a table and their bytes, as counted at `counted_at_ms`; None if not yet counted."""

    entries: int
    bytes: int
    counted_at_ms: int | None
    is_exact: bool


class UpgradeStep(Struct, frozen=True):
    """A step of an upgrade. `cursor` is the argument of the next step; None: the table has the newest layout.

    `scanned` counts keys of the store, approximately, and `moved` entries.
    """

    cursor: str | None
    scanned: int = 0
    moved: int = 0


class OldReplicas(Struct, frozen=True):
    """Replicas of a version that does not know the newest layout use the store; nothing was done."""


def always() -> bool:
    """Permits operations to begin."""
    return True


class ChargedStore(Protocol):
    """The request path: no operation without its charges."""

    async def step(
        self,
        charges: Charges,
        table: Table,
        operations: Sequence[EntryOperation],
        now_ms: int,
        *,
        may_begin: Callable[[], bool] = always,
    ) -> Step:
        """Charges, and executes the operations in order if all budgets admit the charge.

        No operation (a malformed call) only charges. Each operation is done by itself: one that is not done
        does not stop the next. The caller has asked `may_begin`; the store asks again before each operation
        that it begins after it has waited for anything. Raises `BackendError`; `ChargeFailed` if it was the
        charge that failed.
        """
        ...


class TableStore(Protocol):
    """Operations that nobody is charged for."""

    async def execute(self, table: Table, operation: EntryOperation, now_ms: int) -> EntryResult:
        """Executes one operation."""
        ...

    async def count(self, table: Table, now_ms: int) -> TableCount | OldLayout:
        """Counts the live entries of a table, or returns the last count where counting reads all of them."""
        ...

    async def drop(self, tables: Sequence[Table]) -> None:
        """Removes all entries of tables that are no longer in use, in bounded steps. It may be repeated.

        One call for many tables, so that a store which must look for their entries looks once. A failure
        concerns any of them.
        """
        ...

    async def tidy(self, tables: Sequence[Table], now_ms: int) -> None:
        """Removes expired entries of all tables of one home, and counts live ones where no write does.

        Called about once an hour, by one replica. It may be repeated, and run beside itself.
        """
        ...

    async def upgrade(self, table: Table, cursor: str | None, now_ms: int) -> UpgradeStep | OldReplicas:
        """Takes a bounded step towards the newest layout of a table, which is served meanwhile.

        The first step has no cursor. Each further step, on any replica, takes the cursor of the previous one.
        An upgrade may be interrupted, begun again, and run beside itself; any other cursor begins it again.
        """
        ...
