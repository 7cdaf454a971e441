"""Bodies of requests, and the values in bodies of answers."""

import datetime as dt
import json
import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined] # not in the stubs
from typing import Any, NoReturn

from kvs_client.errors import InvalidAnswer, InvalidRequest

_TOO_LONG = "value: an integer of more than 4,300 digits; get_raw returns it"
_SPACE = re.compile(r"[ \t\n\r]*")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value (bytes of JSON from `get_raw`) and its expiry, which is None if it never expires."""

    value: Any
    expires_at: dt.datetime | None


class _NotJson(ValueError):
    """A token that is not part of JSON, such as NaN."""


def _refuse(_: str) -> NoReturn:
    raise _NotJson


def _ignore(_: str) -> None:
    """Ignores the value of a number: only its form is checked."""


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPING = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)
_CHECKER = json.JSONDecoder(parse_constant=_refuse, parse_int=_ignore, parse_float=_ignore)


def prefixed(prefix: str, key: object) -> str:
    """Returns the key with its prefix, if it is a string."""
    if isinstance(key, str):
        return prefix + key
    raise InvalidRequest("invalid_key", f"key: expected a str, not {type(key).__name__}")


def key_body(key: str) -> bytes:
    """Returns the body of a get or a delete."""
    return b'{"key":%b}' % _key(key)


def put_body(key: str, value: bytes, ttl_seconds: int | None) -> bytes:
    """Returns the body of a put; `value` is one JSON value."""
    if ttl_seconds is None:
        return b'{"key":%b,"value":%b}' % (_key(key), value)
    return b'{"key":%b,"value":%b,"ttlSeconds":%b}' % (_key(key), value, _ttl(ttl_seconds))


def encoded(value: Any) -> bytes:
    """Encodes a value as JSON; a lone surrogate is escaped, as it has no UTF-8 form."""
    reason = ""
    try:
        try:
            return _ENCODER.encode(value).encode()
        except UnicodeEncodeError:
            return _ESCAPING.encode(value).encode()
    except TypeError as error:
        reason = str(error)  # contains a type, not a value
    except ValueError:
        reason = "contains NaN, infinity, a circular reference or an integer of more than 4,300 digits"
    except RecursionError:
        reason = "is nested too deeply"
    raise InvalidRequest("invalid_value", f"value: cannot be encoded as JSON: {reason}")


def checked(value: bytes) -> bytes:
    """Returns bytes that are exactly one JSON value: anything else would change the request around them."""
    try:
        _CHECKER.decode(value.decode())
    except (ValueError, RecursionError):
        fault = True
    else:
        fault = value.startswith(b"\xef\xbb\xbf")
    if fault:
        raise InvalidRequest("invalid_value", "value: expected exactly one JSON value in UTF-8")
    return value


def decoded(body: bytes) -> dict[str, Any]:
    """Decodes an answer, which is an object.

    An integer of more digits than Python converts is refused: the time of a conversion grows with their
    square, to 29 s for 1,000,000 digits, in which an event loop stands still.
    """
    answer, failure = None, malformed()
    try:
        answer = _DECODER.decode(body.decode())
    except (json.JSONDecodeError, UnicodeDecodeError, _NotJson, RecursionError):
        pass
    except ValueError:
        failure = InvalidAnswer("undecodable_value", _TOO_LONG, status=200)
    if not isinstance(answer, dict):
        raise failure
    return answer


def entry(answer: dict[str, Any]) -> Entry | None:
    """Returns the entry of the answer to a get, or None."""
    found = answer.get("found")
    if found is False:
        return None
    if found is not True or "value" not in answer or "expiresAt" not in answer:
        raise malformed()
    return Entry(answer["value"], _instant(answer["expiresAt"]))


def raw_members(body: bytes) -> dict[str, bytes]:
    """Returns the members of an answer as bytes, exactly as received."""
    try:
        return _members(body.decode())
    except (ValueError, IndexError, RecursionError):
        pass
    raise malformed()


def _members(text: str) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    at = _after_space(text, 0)
    mark = "{"
    while text[at] == mark:
        at = _after_space(text, at + 1)
        if mark == "{" and text[at] == "}":
            break
        _demand(text[at] == '"')
        name, at = scanstring(text, at + 1)
        at = _after_space(text, at)
        _demand(text[at] == ":")
        start = _after_space(text, at + 1)
        _, end = _CHECKER.raw_decode(text, start)
        members[name] = text[start:end].encode()
        at, mark = _after_space(text, end), ","
    _demand(text[at] == "}" and _after_space(text, at + 1) == len(text))
    return members


def raw_entry(body: bytes) -> Entry | None:
    """Returns the entry of the answer to a get, with its value as the stored bytes, or None."""
    members = raw_members(body)
    answer: dict[str, Any] = {name: _small(value) for name, value in members.items() if name != "value"}
    return entry(answer | {name: value for name, value in members.items() if name == "value"})


def _small(value: bytes) -> Any:
    """Decodes a field of the gateway; it sends none that Python cannot decode."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return NotImplemented


def demand_done(name: str, body: bytes) -> None:
    """Raises unless the answer confirms a put or a delete."""
    if decoded(body).get(name) is not True:
        raise malformed()


def malformed() -> InvalidAnswer:
    """Returns the error for an answer of 200 that does not have the form of its operation."""
    return InvalidAnswer("malformed_answer", status=200)


def _ttl(seconds: object) -> bytes:
    try:
        return _ENCODER.encode(seconds).encode()
    except (TypeError, ValueError, RecursionError):
        pass
    raise InvalidRequest("invalid_ttl", "ttl_seconds: expected a whole number of seconds")


def _key(key: str) -> bytes:
    if isinstance(key, str):
        try:
            return _ENCODER.encode(key).encode()
        except UnicodeEncodeError:
            pass
    raise InvalidRequest("invalid_key", "key: expected a str that can be encoded in UTF-8")


def _instant(text: object) -> dt.datetime | None:
    if text is None:
        return None
    if isinstance(text, str) and _INSTANT.fullmatch(text):
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            pass
    raise malformed()


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _demand(good: bool) -> None:  # noqa: FBT001 - it is the condition
    if not good:
        raise _NotJson
