"""One field of a body, as it was sent, checked and converted.

An absent field is empty bytes: `ABSENT`.
"""

import re

import msgspec
from msgspec import Raw

from gateway.dataplane.diagnostics import explain_integer, explain_text, type_of
from gateway.domain.errors import InvalidKey, InvalidPrefix, InvalidTtl, InvalidValue, Refusal
from gateway.domain.rules import Limits

ABSENT = Raw()

_NULL = b"null"
_BOOLEANS = (b"true", b"false")
_is_integer = re.compile(rb"-?(?:0|[1-9][0-9]{0,15})").fullmatch
_MAX_CHARACTER_BYTES = 4  # of UTF-8

_decode_text = msgspec.json.Decoder(str).decode


def key_in(raw: Raw, max_bytes: int) -> str:
    """Returns a key. Raises InvalidKey."""
    try:
        key = _decode_text(raw)
    except msgspec.DecodeError:
        raise InvalidKey(explain_text("key", bytes(raw))) from None
    if not key:
        raise InvalidKey("key: empty, at least 1 byte")
    if len(key) * _MAX_CHARACTER_BYTES > max_bytes and len(key.encode()) > max_bytes:
        raise InvalidKey(f"key: {len(key.encode())} bytes, at most {max_bytes}")
    return key


def value_in(raw: Raw, max_bytes: int) -> bytes:
    """Returns a value as it was sent. Raises InvalidValue."""
    value = bytes(raw)
    if not value:
        raise InvalidValue("value: missing")
    if len(value) > max_bytes:
        raise InvalidValue(f"value: {len(value)} bytes, at most {max_bytes}")
    return value


def ttl_in(raw: Raw, limits: Limits) -> int | None:
    """Returns a time to live, or the configured default. Raises InvalidTtl."""
    if raw is ABSENT:
        return limits.default_ttl_seconds
    text = bytes(raw)
    if _is_integer(text) and limits.min_ttl_seconds <= (ttl_seconds := int(text)) <= limits.max_ttl_seconds:
        return ttl_seconds
    raise InvalidTtl(explain_integer("ttlSeconds", text, limits.min_ttl_seconds, limits.max_ttl_seconds))


def new_ttl_in(raw: Raw, limits: Limits) -> int | None:
    """Returns the time to live that a touch must state; null is no expiry. Raises InvalidTtl."""
    if raw is ABSENT:
        raise InvalidTtl("ttlSeconds: missing, an integer, or null for no expiry")
    return None if bytes(raw) == _NULL else ttl_in(raw, limits)


def integer_in(name: str, raw: Raw, least: int, most: int, refusal: type[Refusal]) -> int:
    """Returns an integer that is written as one: `1.0` and `1e2` are numbers."""
    text = bytes(raw)
    if _is_integer(text) and least <= (integer := int(text)) <= most:
        return integer
    raise refusal(explain_integer(name, text, least, most))


def text_in(name: str, raw: Raw, refusal: type[Refusal]) -> str:
    """Returns a text."""
    try:
        return _decode_text(raw)
    except msgspec.DecodeError:
        raise refusal(explain_text(name, bytes(raw))) from None


def prefix_in(raw: Raw, max_bytes: int) -> str:
    """Returns a prefix of keys. Raises InvalidPrefix."""
    prefix = text_in("prefix", raw, InvalidPrefix)
    if len(prefix.encode()) > max_bytes:
        raise InvalidPrefix(f"prefix: {len(prefix.encode())} bytes, at most {max_bytes}")
    return prefix


def boolean_in(name: str, raw: Raw, refusal: type[Refusal]) -> bool:
    """Returns a boolean."""
    text = bytes(raw)
    if text not in _BOOLEANS:
        raise refusal(f"{name}: {type_of(text)}, not true or false")
    return text == b"true"


def is_null(raw: Raw) -> bool:
    """Returns whether a field is null."""
    return bytes(raw) == _NULL
