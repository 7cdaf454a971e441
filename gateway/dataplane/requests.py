"""Operations of calls as operations of the store, and the store's results as outcomes or refusals."""

from collections.abc import Callable
from typing import assert_never

from backends.interface import Keyspace
from backends.tables import (
    AddToEntry,
    DeleteEntry,
    EntryOperation,
    EntryResult,
    Failed,
    GetEntry,
    ListEntries,
    NoEntry,
    NoRoom,
    NotInteger,
    OldLayout,
    Page,
    PutEntry,
    Removed,
    Revision,
    StoredEntry,
    Sum,
    TouchEntry,
    Unmet,
    Written,
)
from gateway.dataplane.bodies import listed
from gateway.domain.errors import (
    InternalError,
    PreconditionFailed,
    Refusal,
    StorageLimitReached,
    StorageUnavailable,
    TableNeedsUpgrade,
    ValueNotInteger,
)
from gateway.domain.model import (
    Counted,
    Delete,
    Deleted,
    Found,
    Get,
    Increment,
    List,
    Listed,
    Missing,
    Outcome,
    Put,
    Stored,
    Touch,
    Touched,
)
from gateway.domain.rules import PAGE_BYTES

SingleOperation = Put | Get | Delete | List | Increment | Touch
"""An operation that is not a batch."""

_DELETED, _MISSING = Deleted(), Missing()


def request_of(
    operation: SingleOperation, now_ms: int, next_revision: Callable[[], Revision]
) -> EntryOperation:
    """Returns what to ask of the store. Times to live begin at `now_ms`."""
    match operation:
        case Put():  # first: each class that does not match costs a call
            entry = StoredEntry(operation.value, _expiry(operation.ttl_seconds, now_ms), next_revision())
            return PutEntry(operation.key, entry, operation.condition)
        case Get():
            return GetEntry(operation.key)
        case Delete():
            return DeleteEntry(operation.key, operation.condition)
        case List():
            return ListEntries(
                operation.prefix,
                operation.after,
                operation.limit,
                has_values=operation.has_values,
                page_bytes=PAGE_BYTES,
            )
        case Increment():
            expires_at_ms = _expiry(operation.ttl_seconds, now_ms)
            return AddToEntry(operation.key, operation.by, expires_at_ms, next_revision())
        case Touch():
            expires_at_ms = _expiry(operation.ttl_seconds, now_ms)
            return TouchEntry(operation.key, expires_at_ms, next_revision(), operation.condition)
        case _ as unreachable:
            assert_never(unreachable)


def _expiry(ttl_seconds: int | None, now_ms: int) -> int | None:
    return None if ttl_seconds is None else now_ms + ttl_seconds * 1000


def outcome_of(request: EntryOperation, result: EntryResult, keyspace: Keyspace) -> Outcome | Refusal:
    """Returns what became of a request."""
    match result:
        case Written() if isinstance(request, TouchEntry):
            return Touched(request.expires_at_ms, result.revision)
        case Written():
            return Stored(result.revision)
        case StoredEntry():
            return Found(result.value, result.expires_at_ms, result.revision)
        case NoEntry():
            return _MISSING
        case Removed():
            return _DELETED
        case Sum():
            return Counted(result.value, result.expires_at_ms, result.revision)
        case Page():
            return _listed(request, result, keyspace)
        case _:
            return _refusal(result)


def _refusal(result: Unmet | NoRoom | NotInteger | OldLayout | Failed) -> Refusal:
    match result:
        case Unmet():
            return PreconditionFailed(result.revision)
        case NoRoom():
            return StorageLimitReached()
        case NotInteger():
            return ValueNotInteger()
        case OldLayout():
            return TableNeedsUpgrade()
        case Failed():
            return StorageUnavailable()
        case _ as unreachable:
            assert_never(unreachable)


def _listed(request: EntryOperation, page: Page, keyspace: Keyspace) -> Listed | Refusal:
    if isinstance(request, ListEntries):
        return listed(keyspace, request.prefix, page, has_values=request.has_values)
    return InternalError()
