"""Parses a body into an operation that is valid by construction.

The order of checks is part of the contract: content type, conditions, JSON, key, value, TTL, then the fields
that only one operation has. A value is validated as JSON but never decoded: it is stored as sent (D3).
"""

from typing import assert_never

import msgspec
from msgspec import Raw, Struct

from backends.interface import Keyspace
from backends.tables import ANY, LARGEST_INTEGER
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
    headers, operation, body = call.headers, call.operation, call.body
    _check_content_type(headers)
    condition = ANY
    if IF_MATCH in headers or IF_NONE_MATCH in headers:
        condition = condition_in_headers(operation, headers)
    match operation:
        case Operation.PUT:
            put = decode(body, _put_decoder, notes)
            key, value = key_in(put.key, limits.key_bytes), value_in(put.value, limits.value_bytes)
            return Put(key, value, ttl_in(put.ttl_seconds, limits), condition)
        case Operation.GET:
            return Get(key_in(decode(body, _key_decoder, notes).key, limits.key_bytes))
        case Operation.DELETE:
            return Delete(key_in(decode(body, _key_decoder, notes).key, limits.key_bytes), condition)
        case Operation.LIST:
            return _list(decode(body, _list_decoder, notes), limits, keyspace)
        case Operation.INCREMENT:
            return _increment(decode(body, _increment_decoder, notes), limits)
        case Operation.TOUCH:
            touch = decode(body, _touch_decoder, notes)
            return Touch(
                key_in(touch.key, limits.key_bytes), new_ttl_in(touch.ttl_seconds, limits), condition
            )
        case Operation.BATCH:
            return parse_batch(body, limits, notes)
        case _ as unreachable:
            assert_never(unreachable)


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


def _increment(fields: _IncrementBody, limits: Limits) -> Increment:
    key, by = key_in(fields.key, limits.key_bytes), 1
    ttl_seconds = ttl_in(fields.ttl_seconds, limits)
    if fields.by is not ABSENT:
        by = integer_in("by", fields.by, -LARGEST_INTEGER, LARGEST_INTEGER, InvalidBy)
    return Increment(key, by, ttl_seconds)


def _check_content_type(headers: Headers) -> None:
    field = headers.get(b"content-type") or b""
    if field != _CONTENT_TYPE and field.partition(b";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidContentType(explain_content_type(field))
    coding = headers.get(b"content-encoding")
    if coding is not None and coding.lower() != b"identity":
        raise InvalidContentType(f"Content-Encoding: {name_of(coding)} is not supported")
