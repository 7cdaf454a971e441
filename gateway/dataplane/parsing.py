"""Stage 7: from a body to an operation that is valid by construction.

The order of checks is contract: content type, JSON, key, value, TTL. A value is
never decoded: it is checked to be JSON and kept as the bytes that were sent (D3).
"""

import re
from collections.abc import Callable
from secrets import token_hex

import msgspec
from msgspec import Raw, Struct

from gateway.domain.errors import InvalidContentType, InvalidJson, InvalidKey, InvalidTtl, InvalidValue
from gateway.domain.headers import Headers
from gateway.domain.model import Call, Delete, Get, Operation, Put, TableOperation
from gateway.domain.rules import Limits

_CONTENT_TYPE = b"application/json"
_INTEGER = re.compile(rb"0|[1-9][0-9]{0,9}")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""Escapes in JSON text: pairs of surrogates, a lone surrogate (its digits are the group), any other."""

_MAX_CHARACTER_BYTES = 4  # of UTF-8

_ABSENT = Raw()


class _Body(Struct):
    key: Raw = _ABSENT
    value: Raw = _ABSENT
    ttl_seconds: Raw = msgspec.field(default=_ABSENT, name="ttlSeconds")


_body_decoder = msgspec.json.Decoder(_Body)
_text_decoder = msgspec.json.Decoder(str)


def parse(call: Call, limits: Limits) -> TableOperation:
    """The operation in the call's body. Raises the first of the five content refusals that applies."""
    _check_content_type(call.headers)
    return _PARSERS[call.operation](_decode(call.body), limits)


def _put(body: _Body, limits: Limits) -> Put:
    return Put(
        _key(body.key, limits.key_bytes),
        _value(body.value, limits.value_bytes),
        _ttl_seconds(body.ttl_seconds, limits),
    )


def _get(body: _Body, limits: Limits) -> Get:
    return Get(_key(body.key, limits.key_bytes))


def _delete(body: _Body, limits: Limits) -> Delete:
    return Delete(_key(body.key, limits.key_bytes))


_PARSERS: dict[Operation, Callable[[_Body, Limits], TableOperation]] = {
    Operation.PUT: _put,
    Operation.GET: _get,
    Operation.DELETE: _delete,
}


def _check_content_type(headers: Headers) -> None:
    field = headers.get(b"content-type") or b""
    if field != _CONTENT_TYPE and field.partition(b";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidContentType
    coding = headers.get(b"content-encoding")
    if coding is not None and coding.lower() != b"identity":
        raise InvalidContentType


def _decode(body: bytes) -> _Body:
    try:
        if not body.isascii():
            body.decode()  # msgspec skips over strings that nobody reads, well-formed or not
        return _body_decoder.decode(body)
    except RecursionError:
        raise InvalidJson from None
    except ValueError:
        return _decode_lone_surrogates(body)


def _decode_lone_surrogates(body: bytes) -> _Body:
    r"""Decode what msgspec refuses and RFC 8259 allows: `\ud800` without its other half (D5).

    Each such escape is spelt as plain letters for the decoder and as it was sent afterwards.
    """
    spelling = _letters_absent_from(body)
    try:
        decoded = _body_decoder.decode(
            _ESCAPE.sub(
                lambda escape: spelling + escape[1] if escape[1] else escape[0], body.decode().encode()
            )
        )
    except (ValueError, RecursionError):
        raise InvalidJson from None
    if spelling in bytes(decoded.key):
        raise InvalidKey
    decoded.value = Raw(bytes(decoded.value).replace(spelling, rb"\u"))
    return decoded


def _letters_absent_from(body: bytes) -> bytes:
    """Letters that no sender can foresee: a search among known ones could be made as long as the body."""
    letters = b"lone" + token_hex(8).encode()
    return letters if letters not in body else _letters_absent_from(body)


def _key(raw: Raw, max_bytes: int) -> str:
    try:
        key = _text_decoder.decode(raw)
    except msgspec.DecodeError:
        raise InvalidKey from None
    if not key or (len(key) * _MAX_CHARACTER_BYTES > max_bytes and len(key.encode()) > max_bytes):
        raise InvalidKey
    return key


def _value(raw: Raw, max_bytes: int) -> bytes:
    value = bytes(raw)
    if not value or len(value) > max_bytes:
        raise InvalidValue
    return value


def _ttl_seconds(raw: Raw, limits: Limits) -> int | None:
    if raw is _ABSENT:
        return limits.default_ttl_seconds
    text = bytes(raw)
    if not _INTEGER.fullmatch(text):
        raise InvalidTtl
    ttl_seconds = int(text)
    if not limits.min_ttl_seconds <= ttl_seconds <= limits.max_ttl_seconds:
        raise InvalidTtl
    return ttl_seconds
