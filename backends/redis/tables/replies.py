"""Replies of a step."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from backends.errors import BackendUnavailable, StoreFull
from backends.interface import Charge
from backends.redis.tables.encoding import entry_in
from backends.redis.wire.replies import NOT_REDIS
from backends.redis.wire.resp import Reply
from backends.tables import (
    FAILED,
    Budget,
    EntryOperation,
    EntryResult,
    GetEntry,
    NoEntry,
    NoRoom,
    NotInteger,
    Page,
    PutEntry,
    Refused,
    Removed,
    Revision,
    Sum,
    TouchEntry,
    Unmet,
    Written,
)

_NOT_UPGRADED, _NOT_MARKED = b"\2", b"\3"
_NO_ENTRY, _NO_ROOM = NoEntry(), b"F"
_PLAIN: dict[bytes, EntryResult] = {
    b"N": _NO_ENTRY,
    b"R": Removed(),
    _NO_ROOM: NoRoom(),
    b"I": NotInteger(),
}


class NotUpgraded(Exception):
    """The entries of the table are not in layout 2; nothing was done. It does not leave the adapter."""

    def __init__(self, *, is_marked: bool) -> None:
        super().__init__()
        self.is_marked = is_marked


class Outcome(Struct, frozen=True, gc=False):
    """An executed step: fewer results than operations if it stopped at the storage limit.

    `due` are tables of the home in which entries have expired.
    """

    charges: tuple[Charge, ...]
    results: list[EntryResult]
    due: list[bytes]


def outcome_of(
    reply: Reply, budgets: Sequence[Budget], operations: Sequence[EntryOperation]
) -> Refused | Outcome:
    """Decodes the reply of a step. Raises StoreFull at `maxmemory`, CorruptEntry for foreign data."""
    # The usual case, without a pattern: each `int(…)` in one costs a failing look-up of `__match_args__`.
    if type(reply) is list and len(reply) == 3:
        closes_in_ms, remaining, result = reply
        if type(result) is bytes and type(closes_in_ms) is type(remaining) is int:
            charge = Charge(admitted=True, closes_in_ms=closes_in_ms, remaining=remaining)
            return _single((charge,), operations[0], result)
    match reply:
        case [int(number), int(closes_in_ms), int(remaining)] if 0 < number <= len(budgets):
            charge = Charge(admitted=False, closes_in_ms=closes_in_ms, remaining=remaining)
            return Refused(budgets[number - 1], charge)
        case [*numbers, bytes(result)]:
            return _single(_charges_in(numbers, budgets), operations[0], result)
        case [*numbers, [*found], [*due]]:
            return Outcome(_charges_in(numbers, budgets), _results_in(found, operations), due)
    if reply in (_NOT_UPGRADED, _NOT_MARKED):
        raise NotUpgraded(is_marked=reply == _NOT_UPGRADED)
    raise BackendUnavailable(NOT_REDIS)


def _single(charges: tuple[Charge, ...], operation: EntryOperation, result: bytes) -> Outcome:
    """Decodes the result of a step of one get or put, which does not look for expired entries."""
    results = [] if result == _NO_ROOM else [_result_of(operation, result)]
    return Outcome(charges, results, [])


def _charges_in(numbers: Sequence[Any], budgets: Sequence[Budget]) -> tuple[Charge, ...]:
    if len(numbers) != 2 * len(budgets) or not all(isinstance(each, int) for each in numbers):
        raise BackendUnavailable(NOT_REDIS)
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return tuple(
        Charge(admitted=True, closes_in_ms=closes, remaining=remaining) for closes, remaining in pairs
    )


def _results_in(found: Sequence[Any], operations: Sequence[EntryOperation]) -> list[EntryResult]:
    results: list[EntryResult] = []
    for operation, result in zip(operations, found, strict=False):
        try:
            results.append(_result_of(operation, result))
        except StoreFull:
            if not results:
                raise
            results.append(FAILED)
    return results


def _result_of(operation: EntryOperation, result: Any) -> EntryResult:
    match result:
        case bytes() if isinstance(operation, GetEntry):
            return entry_in(result) if result else _NO_ENTRY
        case b"W" if isinstance(operation, PutEntry):
            return Written(operation.entry.revision)
        case bytes():
            return _PLAIN.get(result) or _rare_result_of(operation, result[:1], result[1:])
        case [bytes(after), *pairs]:
            entries = tuple(
                (key.decode(), entry_in(stored)) for key, stored in zip(pairs[::2], pairs[1::2], strict=True)
            )
            return Page(entries, after.decode() or None)
    raise BackendUnavailable(NOT_REDIS)


def _rare_result_of(operation: EntryOperation, letter: bytes, rest: bytes) -> EntryResult:
    match letter:
        case b"W" if isinstance(operation, TouchEntry):
            return Written(operation.revision)
        case b"U":
            return Unmet(Revision(rest.decode("latin-1")) if rest else None)
        case b"S":
            entry = entry_in(rest)
            return Sum(int(entry.value), entry.expires_at_ms, entry.revision)
        case b"O":
            raise StoreFull("has reached maxmemory (OOM)")
    raise BackendUnavailable(NOT_REDIS)
