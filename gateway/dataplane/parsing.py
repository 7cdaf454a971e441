"""Stage 7: parses a body into an operation that is valid by construction.

The order of checks is part of the contract: content type, JSON, key, value, TTL. A value is validated as JSON
but never decoded: it is stored as the bytes that were sent (D3).
"""

import re
from collections.abc import Callable
from secrets import token_hex
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from gateway.dataplane.diagnostics import (
    explain_content_type,
    explain_fields,
    explain_json,
    explain_ttl,
    explain_type,
    name_of,
)
from gateway.domain.call import Call, Headers
from gateway.domain.errors import InvalidContentType, InvalidJson, InvalidKey, InvalidTtl, InvalidValue
from gateway.domain.model import Delete, Get, Operation, Put, ResponseNotes, TableOperation
from gateway.domain.rules import Limits

_CONTENT_TYPE = b"application/json"
_INTEGER = re.compile(rb"0|[1-9][0-9]{0,9}")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""Escapes in JSON: a surrogate pair, a lone surrogate (the group holds its digits), or any other escape."""

_MAX_CHARACTER_BYTES = 4  # of UTF-8

_ABSENT = Raw()
_Fields = TypeVar("_Fields", bound="_KeyBody")


class _KeyBody(Struct, forbid_unknown_fields=True):
    key: Raw = _ABSENT


class _PutBody(_KeyBody, forbid_unknown_fields=True):
    value: Raw = _ABSENT
    ttl_seconds: Raw = msgspec.field(default=_ABSENT, name="ttlSeconds")


_key_decoder = msgspec.json.Decoder(_KeyBody)
_put_decoder = msgspec.json.Decoder(_PutBody)
_any_fields_decoder = msgspec.json.Decoder(dict[str, Raw])
_text_decoder = msgspec.json.Decoder(str)


def parse(call: Call, limits: Limits, notes: ResponseNotes) -> TableOperation:
    """Parses the call's body. Raises the first of the five content refusals that applies.

    Fields that the operation does not have are ignored and named in `notes`.
    """
    _check_content_type(call.headers)
    return _PARSERS[call.operation](call.body, limits, notes)


def _put(body: bytes, limits: Limits, notes: ResponseNotes) -> Put:
    fields = _decode(body, _put_decoder, notes)
    return Put(
        _key(fields.key, limits.key_bytes),
        _value(fields.value, limits.value_bytes),
        _ttl_seconds(fields.ttl_seconds, limits),
    )


def _get(body: bytes, limits: Limits, notes: ResponseNotes) -> Get:
    return Get(_key(_decode(body, _key_decoder, notes).key, limits.key_bytes))


def _delete(body: bytes, limits: Limits, notes: ResponseNotes) -> Delete:
    return Delete(_key(_decode(body, _key_decoder, notes).key, limits.key_bytes))


_PARSERS: dict[Operation, Callable[[bytes, Limits, ResponseNotes], TableOperation]] = {
    Operation.PUT: _put,
    Operation.GET: _get,
    Operation.DELETE: _delete,
}


def _check_content_type(headers: Headers) -> None:
    field = headers.get(b"content-type") or b""
    if field != _CONTENT_TYPE and field.partition(b";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidContentType(explain_content_type(field))
    coding = headers.get(b"content-encoding")
    if coding is not None and coding.lower() != b"identity":
        raise InvalidContentType(f"Content-Encoding: {name_of(coding)} is not supported")


def _decode(body: bytes, decoder: msgspec.json.Decoder[_Fields], notes: ResponseNotes) -> _Fields:
    """Decodes a good body in one pass. Only a body that fails is decoded again to explain it (D168)."""
    try:
        if not body.isascii():
            body.decode()  # msgspec does not validate the UTF-8 of strings that it skips
        return decoder.decode(body)
    except RecursionError:
        raise InvalidJson(explain_json(body)) from None
    except ValueError:
        return _decode_again(body, decoder.type, notes)


def _decode_again(body: bytes, wanted: type[_Fields], notes: ResponseNotes) -> _Fields:
    r"""Decodes a body with unknown fields, or with a lone surrogate such as `\ud800`.

    The decoder refuses lone surrogates. Each is spelled in letters before decoding, and restored after it.
    """
    spelling = _letters_absent_from(body)
    text = body
    try:
        text = _ESCAPE.sub(
            lambda escape: spelling + escape[1] if escape[1] else escape[0], body.decode().encode()
        )
        fields = _any_fields_decoder.decode(text)
    except (ValueError, RecursionError):
        raise InvalidJson(explain_json(re.sub(spelling + b"....", b"______", text))) from None
    if spelling in bytes(fields.get("key", _ABSENT)):
        raise InvalidKey("key: half of a surrogate pair")
    known = wanted.__struct_encode_fields__
    unknown = [name.replace(spelling.decode(), r"\u") for name in fields if name not in known]
    if unknown:
        notes.warning = explain_fields(unknown, known)
    as_sent = (
        Raw(bytes(fields[name]).replace(spelling, rb"\u")) if name in fields else _ABSENT for name in known
    )
    return wanted(*as_sent)


def _letters_absent_from(body: bytes) -> bytes:
    """Returns random letters that the body lacks: a sender who predicts them could force a long search."""
    letters = b"lone" + token_hex(8).encode()
    return letters if letters not in body else _letters_absent_from(body)


def _key(raw: Raw, max_bytes: int) -> str:
    try:
        key = _text_decoder.decode(raw)
    except msgspec.DecodeError:
        raise InvalidKey(explain_type("key", bytes(raw), "a string")) from None
    if not key:
        raise InvalidKey("key: empty, at least 1 byte")
    if len(key) * _MAX_CHARACTER_BYTES > max_bytes and len(key.encode()) > max_bytes:
        raise InvalidKey(f"key: {len(key.encode())} bytes, at most {max_bytes}")
    return key


def _value(raw: Raw, max_bytes: int) -> bytes:
    value = bytes(raw)
    if not value:
        raise InvalidValue("value: missing")
    if len(value) > max_bytes:
        raise InvalidValue(f"value: {len(value)} bytes, at most {max_bytes}")
    return value


def _ttl_seconds(raw: Raw, limits: Limits) -> int | None:
    if raw is _ABSENT:
        return limits.default_ttl_seconds
    text = bytes(raw)
    if not _INTEGER.fullmatch(text):
        raise InvalidTtl(explain_ttl(text, limits))
    ttl_seconds = int(text)
    if not limits.min_ttl_seconds <= ttl_seconds <= limits.max_ttl_seconds:
        raise InvalidTtl(explain_ttl(text, limits))
    return ttl_seconds
