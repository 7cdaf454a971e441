"""Parses a body into an operation that is valid by construction.

The order of checks is part of the contract: content type, conditions, JSON, key, value, TTL, then the fields
that only one operation has. A value is validated as JSON but never decoded: it is stored as sent (D3).
"""

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from backends.interface import Keyspace
from backends.tables import LARGEST_INTEGER
from gateway.dataplane.bodies.batches import parse_batch
from gateway.dataplane.bodies.conditions import IF_MATCH, IF_NONE_MATCH, condition_in_headers
from gateway.dataplane.bodies.decoding import decode
from gateway.dataplane.bodies.fields import (
    ABSENT,
    boolean_in,
    integer_in,
    is_null,
    key_in,
    new_ttl_in,
    prefix_in,
    text_in,
    ttl_in,
    value_in,
)
from gateway.dataplane.bodies.pages import read_cursor
from gateway.dataplane.diagnostics import explain_content_type, name_of
from gateway.domain.call import Call, Headers
from gateway.domain.errors import InvalidBy, InvalidContentType, InvalidCursor, InvalidLimit, InvalidValues
from gateway.domain.model import (
    Delete,
    Get,
    Increment,
    List,
    Operation,
    Put,
    ResponseNotes,
    TableOperation,
    Touch,
)
from gateway.domain.rules import DEFAULT_PAGE_ENTRIES, PAGE_ENTRIES, Limits

_CONTENT_TYPE = b"application/json"
_CONTENT_ENCODING = b"content-encoding"


class _KeyBody(Struct, forbid_unknown_fields=True):
    key: Raw = ABSENT


class _TouchBody(_KeyBody, forbid_unknown_fields=True):
    ttl_seconds: Raw = msgspec.field(default=ABSENT, name="ttlSeconds")


class _PutBody(_KeyBody, forbid_unknown_fields=True):
    value: Raw = ABSENT
    ttl_seconds: Raw = msgspec.field(default=ABSENT, name="ttlSeconds")


class _IncrementBody(_TouchBody, forbid_unknown_fields=True):
    by: Raw = ABSENT


class _ListBody(Struct, forbid_unknown_fields=True):
    prefix: Raw = ABSENT
    limit: Raw = ABSENT
    cursor: Raw = ABSENT
    values: Raw = ABSENT


_key_decoder = msgspec.json.Decoder(_KeyBody)
_put_decoder = msgspec.json.Decoder(_PutBody)
_touch_decoder = msgspec.json.Decoder(_TouchBody)
_increment_decoder = msgspec.json.Decoder(_IncrementBody)
_list_decoder = msgspec.json.Decoder(_ListBody)


def parse(call: Call, limits: Limits, notes: ResponseNotes, keyspace: Keyspace) -> TableOperation:
    """Parses the call's header fields and body. Raises the first content refusal that applies.

    Fields that the operation does not have are ignored and named in `notes`. Cursors are those of `keyspace`.
    """
    headers = call.headers
    if headers.get(b"content-type") != _CONTENT_TYPE or _CONTENT_ENCODING in headers:
        _check_content_type(headers)
    if IF_MATCH in headers or IF_NONE_MATCH in headers:
        condition = condition_in_headers(call.operation, headers)
        return replace(_PARSERS[call.operation](call.body, limits, notes), condition=condition)
    if call.operation is _LIST:
        return _list(decode(call.body, _list_decoder, notes), limits, keyspace)
    return _PARSERS[call.operation](call.body, limits, notes)


def _put(body: bytes, limits: Limits, notes: ResponseNotes) -> Put:
    fields = decode(body, _put_decoder, notes)
    return Put(
        key_in(fields.key, limits.key_bytes),
        value_in(fields.value, limits.value_bytes),
        ttl_in(fields.ttl_seconds, limits),
    )


def _get(body: bytes, limits: Limits, notes: ResponseNotes) -> Get:
    return Get(key_in(decode(body, _key_decoder, notes).key, limits.key_bytes))


def _delete(body: bytes, limits: Limits, notes: ResponseNotes) -> Delete:
    return Delete(key_in(decode(body, _key_decoder, notes).key, limits.key_bytes))


def _touch(body: bytes, limits: Limits, notes: ResponseNotes) -> Touch:
    fields = decode(body, _touch_decoder, notes)
    return Touch(key_in(fields.key, limits.key_bytes), new_ttl_in(fields.ttl_seconds, limits))


def _increment(body: bytes, limits: Limits, notes: ResponseNotes) -> Increment:
    fields = decode(body, _increment_decoder, notes)
    key, by = key_in(fields.key, limits.key_bytes), 1
    ttl_seconds = ttl_in(fields.ttl_seconds, limits)
    if fields.by is not ABSENT:
        by = integer_in("by", fields.by, -LARGEST_INTEGER, LARGEST_INTEGER, InvalidBy)
    return Increment(key, by, ttl_seconds)


_LIST = Operation.LIST
_PARSERS: dict[Operation, Callable[[bytes, Limits, ResponseNotes], TableOperation]] = {
    Operation.PUT: _put,
    Operation.GET: _get,
    Operation.DELETE: _delete,
    Operation.INCREMENT: _increment,
    Operation.TOUCH: _touch,
    Operation.BATCH: parse_batch,
}


def _list(fields: _ListBody, limits: Limits, keyspace: Keyspace) -> List:
    prefix, limit, after, has_values = "", DEFAULT_PAGE_ENTRIES, "", False
    if fields.prefix is not ABSENT:
        prefix = prefix_in(fields.prefix, limits.key_bytes)
    if fields.limit is not ABSENT:
        limit = integer_in("limit", fields.limit, 1, PAGE_ENTRIES, InvalidLimit)
    if fields.cursor is not ABSENT and not is_null(fields.cursor):
        cursor = text_in("cursor", fields.cursor, InvalidCursor)
        after = read_cursor(keyspace, prefix, cursor)
    if fields.values is not ABSENT:
        has_values = boolean_in("values", fields.values, InvalidValues)
    return List(prefix, after, limit, has_values)


def _check_content_type(headers: Headers) -> None:
    field = headers.get(b"content-type") or b""
    if field.partition(b";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidContentType(explain_content_type(field))
    coding = headers.get(_CONTENT_ENCODING)
    if coding is not None and coding.lower() != b"identity":
        raise InvalidContentType(f"Content-Encoding: {name_of(coding)} is not supported")
