"""Explanations of refused calls for the developer who has to correct them (D168).

They are computed after the refusal, so a good call pays nothing for them. They quote no token, value or
query, because each may be a secret.
"""

import json
import re
from collections.abc import Collection
from difflib import get_close_matches
from itertools import islice

import msgspec
from msgspec import Raw

from gateway.domain.call import Call
from gateway.domain.model import Operation
from gateway.sigv4 import Claim

_OPERATIONS = [operation.encode() for operation in Operation]
_PATHS = ", ".join(f"/v1/{operation}" for operation in Operation)
_LONGEST_NAME = 32
_MOST_FIELDS = 16
_ALIKE = 0.7
_QUOTES = 2
_UNSET = frozenset({b"undefined", b"null", b"none", b"nil", b"nan", b"false", b"[object object]"})
"""Spellings of an unset variable in common languages, in lower case."""


def explain_path(path: bytes) -> str:
    """Explains a path that is not a route."""
    name = path.rstrip(b"/").rpartition(b"/")[2].lower()
    if name in _OPERATIONS:
        return f"no such path: did you mean /v1/{name.decode()}?"
    return f"no such path: the paths are {_PATHS}"


def explain_mismatch(call: Call, claim: Claim) -> str:
    """Explains a signature that does not match the request that arrived."""
    if not claim.declared_hash_holds:
        return f"body: the {len(call.body)} bytes that arrived do not match x-amz-content-sha256"
    headers = call.headers
    host, forwarded = _text(headers[b"host"]), headers.get(b"x-forwarded-host")
    if forwarded is not None and _text(forwarded) != host:
        return f"Host: {host} arrived, the client sent {_text(forwarded)}: proxies must keep the signed Host"
    path, _, query = call.target.partition(b"?")
    target = _text(path) + (" with a query" if query else "")
    return (
        "wrong secret, or the request was changed after it was signed: "
        f"Host {host}, path {target} and a body of {len(call.body)} bytes arrived"
    )


def explain_token(token: bytes) -> str | None:
    """Explains why a token has no binding. Returns None if it looks like a table token."""
    if token.lower() in _UNSET:
        return f'the token is "{token.decode()}": the variable that holds it is not set'
    if token.startswith((b"$", b"{", b"process.env")):
        return "the token is the name of a variable, not its value"
    if token.lower().startswith(b"bearer "):
        return "X-KVS-Authorization: Bearer is written twice"
    return None if token.startswith(b"kvs_") else "not a table token: it begins with kvs_"


_UNREADABLE = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")
_NOT_OF_JSON = re.compile(rb"(?:NaN|nan|Infinity|undefined|None|True|False)\b")
_INTEGER = re.compile(rb"-?[0-9]+")
_NUMBER = "a number"
_TYPES = {
    ord('"'): "a string",
    ord("{"): "an object",
    ord("["): "an array",
    ord("t"): "true",
    ord("f"): "false",
    ord("n"): "null",
}
_TOO_DEEP = "not readable JSON: nested too deeply"
_any_decoder = msgspec.json.Decoder(Raw)


def type_of(sent: bytes) -> str:
    """Names the JSON type of a value, with its article."""
    return _TYPES.get(sent.lstrip()[0], _NUMBER)


def explain_json(body: bytes) -> str:
    """Explains why a body is not a JSON object. Bytes are counted from 0. `body` has no lone surrogates."""
    if not body.strip():
        return "not JSON: the body is empty"
    if body.startswith(b"\xef\xbb\xbf"):
        return "not JSON: a byte order mark at byte 0"
    try:
        body.decode()
        _any_decoder.decode(body)
    except UnicodeDecodeError as error:
        return f"not JSON: not UTF-8 at byte {error.start}"
    except RecursionError:
        return _TOO_DEEP
    except msgspec.DecodeError as error:
        found = _UNREADABLE.fullmatch(str(error))
        if found is None:
            return f"not JSON: it ends early, at byte {len(body)}"
        return f"not JSON: {_unreadable(body, int(found[2])) or found[1]} at byte {found[2]}"
    sent = type_of(body)
    return f"not a JSON object: {sent}" if sent != "an object" else _TOO_DEEP


def _unreadable(body: bytes, position: int) -> str | None:
    """Names the first token that is not JSON, if it comes from another common language."""
    if body[position : position + 1] == b"'":
        return "a single quote"
    word = _NOT_OF_JSON.match(body, position)
    return None if word is None else word[0].decode()


def explain_content_type(field: bytes) -> str:
    """Explains a Content-Type other than `application/json`."""
    return f"Content-Type: {_text(field) or 'missing'}, allowed: application/json"


def name_of(field: bytes) -> str:
    """Returns the name in a header field as it was sent, cut to a bounded length."""
    return field.decode("latin-1")[:_LONGEST_NAME]


def explain_type(field: str, sent: bytes, wanted: str) -> str:
    """Explains a field of the body that is missing or not of the type `wanted`."""
    return f"{field}: missing" if not sent else f"{field}: {type_of(sent)}, not {wanted}"


def explain_text(field: str, sent: bytes) -> str:
    """Explains a field of the body that is missing, not a string, or not Unicode."""
    return f"{field}: half of a surrogate pair" if sent[:1] == b'"' else explain_type(field, sent, "a string")


def explain_integer(field: str, sent: bytes, least: int, most: int) -> str:
    """Explains a number that is out of range or not an integer."""
    if not _INTEGER.fullmatch(sent):
        return f"{field}: {type_of(sent)}, not written as an integer"
    shown = sent.decode() if len(sent) <= _LONGEST_NAME else f"{len(sent)} digits"
    if int(sent[:_LONGEST_NAME]) < least:
        return f"{field}: {shown}, at least {least}"
    return f"{field}: {shown}, at most {most}"


def explain_tag(field: str, sent: bytes) -> str:
    """Explains a condition that is not one strong tag. Tags may be of another store, so none is quoted."""
    if sent.startswith(b"W/"):
        return f"{field}: a weak tag; send the ETag of an answer as it is"
    if sent.count(b'"') > _QUOTES:
        return f"{field}: several tags, only one is allowed"
    return f"{field}: not * or the ETag of an answer, quotes included"


def explain_fields(unknown: Collection[str], known: Collection[str]) -> str:
    """Explains which fields of a body are unknown to the operation."""
    shown = islice(unknown, _MOST_FIELDS)  # a body has room for thousands, the warning for a few
    return "; ".join(_explain_field(name, known) for name in shown)


def _explain_field(name: str, known: Collection[str]) -> str:
    if len(name) > _LONGEST_NAME:  # longer ones may be tokens
        return f"unknown field of {len(name)} characters"
    warning = f"unknown field {json.dumps(name)}"
    meant = _meant(name.lower(), known)
    return warning if meant is None else f'{warning}: did you mean "{meant}"?'


def _meant(name: str, known: Collection[str]) -> str | None:
    if name.startswith(("ttl", "exp")) and "ttlSeconds" in known:
        return "ttlSeconds"
    close = get_close_matches(name, [each.lower() for each in known], 1, _ALIKE)
    return next((each for each in known if close == [each.lower()]), None)


def _text(bytes_on_the_wire: bytes) -> str:
    return bytes_on_the_wire.decode("latin-1")[:64]
