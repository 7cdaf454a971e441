"""Replies of a step."""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct as Layout
from struct import error as WrongLength  # noqa: N812 - named for its cause
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

_REFUSED = Layout(">BBQQ")
_DONE = 1
_NOT_UPGRADED = b"\2"
_PLAIN: dict[bytes, EntryResult] = {b"N": NoEntry(), b"R": Removed(), b"F": NoRoom(), b"I": NotInteger()}


class NotUpgraded(Exception):
    """The entries of the table are not in layout 2; nothing was done. It does not leave the adapter."""


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
    try:
        match reply:
            case bytes() if reply[0] != _DONE:
                return _refusal_in(reply, budgets)
            case bytes():
                size = _head_of(len(budgets)).size
                return Outcome(_charges_in(reply[:size]), [_result_of(operations[0], reply[size:])], [])
            case [bytes(head), [*found], [*due]]:
                return Outcome(_charges_in(head), _results_in(found, operations), due)
    except (WrongLength, IndexError):
        pass
    raise BackendUnavailable(NOT_REDIS)


def _refusal_in(head: bytes, budgets: Sequence[Budget]) -> Refused:
    if head == _NOT_UPGRADED:
        raise NotUpgraded
    _, number, closes_in_ms, remaining = _REFUSED.unpack(head)
    return Refused(
        budgets[number - 1], Charge(admitted=False, closes_in_ms=closes_in_ms, remaining=remaining)
    )


def _charges_in(head: bytes) -> tuple[Charge, ...]:
    match _head_of(len(head) // 16).unpack(head):
        case (1, _, closes_in_ms, remaining):  # the usual case
            return (Charge(admitted=True, closes_in_ms=closes_in_ms, remaining=remaining),)
        case (1, _, *numbers):
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            return tuple(
                Charge(admitted=True, closes_in_ms=closes, remaining=remaining) for closes, remaining in pairs
            )
    raise BackendUnavailable(NOT_REDIS)


@lru_cache(100)
def _head_of(budgets: int) -> Layout:
    return Layout(">BB" + "QQ" * budgets)


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
        case bytes():
            letter, rest = result[:1], result[1:]
            if letter == b"E":
                return entry_in(rest)
            if letter == b"W" and isinstance(operation, PutEntry):
                return Written(operation.entry.revision)
            return _PLAIN.get(letter) or _rare_result_of(operation, letter, rest)
        case [bytes(head), *pairs]:
            entries = tuple(
                (key.decode(), entry_in(stored)) for key, stored in zip(pairs[::2], pairs[1::2], strict=True)
            )
            return Page(entries, head[1:].decode() or None)
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
            raise StoreFull("has reached maxmemory")
    raise BackendUnavailable(NOT_REDIS)
