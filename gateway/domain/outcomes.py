"""Outcomes of operations as JSON answers."""

from typing import assert_never

import msgspec

from backends.tables import StoredEntry
from gateway.domain.answers import Answer, etag_fields, iso_instant
from gateway.domain.model import (
    BatchDone,
    Counted,
    Deleted,
    Found,
    Listed,
    Missing,
    NotDone,
    Outcome,
    Stored,
    Touched,
    UsageOutcome,
)

_DONE = UsageOutcome.OK
_OK = b'{"ok":true}'
_DELETED = Answer(200, b'{"deleted":true}')
_MISSING = Answer(200, b'{"found":false,"expiresAt":null}', UsageOutcome.NOT_FOUND)


def render(outcome: Outcome) -> Answer:
    """Renders an outcome, which is always a success."""
    match outcome:
        case Stored():  # first: each class that does not match costs a call
            return Answer(200, _OK, _DONE, None, etag_fields(outcome.revision))  # keywords take longer
        case Found():
            return Answer(200, _found(outcome), _DONE, None, etag_fields(outcome.revision))
        case Deleted():
            return _DELETED
        case Missing():
            return _MISSING
        case Counted():
            body = b'{"value":%d,"expiresAt":%b}' % (outcome.value, _instant(outcome.expires_at_ms))
            return Answer(200, body, fields=etag_fields(outcome.revision))
        case Touched():
            body = b'{"found":true,"expiresAt":%b}' % _instant(outcome.expires_at_ms)
            return Answer(200, body, fields=etag_fields(outcome.revision))
        case Listed():
            return Answer(200, _page(outcome))
        case BatchDone():
            return Answer(200, b'{"results":[%b]}' % b",".join(map(_result, outcome.results)))
        case _ as unreachable:
            assert_never(unreachable)


def _found(entry: Found) -> bytes:
    if entry.expires_at_ms is None:
        return b'{"found":true,"value":%b,"expiresAt":null}' % entry.value
    return b'{"found":true,"value":%b,"expiresAt":%b}' % (entry.value, _instant(entry.expires_at_ms))


def _page(page: Listed) -> bytes:
    render_entry = _entry_with_value if page.has_values else _entry
    entries = b",".join([render_entry(key, entry) for key, entry in page.entries])
    return b'{"entries":[%b],"cursor":%b}' % (entries, msgspec.json.encode(page.cursor))


def _entry(key: str, entry: StoredEntry) -> bytes:
    return b'{"key":%b,"expiresAt":%b}' % (msgspec.json.encode(key), _instant(entry.expires_at_ms))


def _entry_with_value(key: str, entry: StoredEntry) -> bytes:
    name, expires_at = msgspec.json.encode(key), _instant(entry.expires_at_ms)
    return b'{"key":%b,"value":%b,"expiresAt":%b}' % (name, entry.value, expires_at)


def _result(result: Stored | Found | Missing | Deleted | NotDone) -> bytes:
    """Renders the result of an operation of a batch: the body of its own answer, and its ETag as a field."""
    match result:
        case Stored():
            return b'{"ok":true,"etag":%b}' % _tag(result.revision)
        case Found():
            return b'%b,"etag":%b}' % (_found(result)[:-1], _tag(result.revision))
        case NotDone():
            return b'{"error":%b}' % msgspec.json.encode(result.code)
        case _:
            return render(result).body


def _tag(revision: str) -> bytes:
    return msgspec.json.encode(f'"{revision}"')


def _instant(wall_ms: int | None) -> bytes:
    return b"null" if wall_ms is None else b'"%b"' % str(iso_instant(wall_ms)).encode()
