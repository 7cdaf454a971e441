"""The strictest reading of RFC 9112: an independent judge of which requests some bytes hold.

It shares no code with the gateway or with aiohttp. It knows no bounds, and every method.
"""

import re
from dataclasses import dataclass

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TEXT = rb"[\x21-\x7e\x80-\xff]"
_LINE = re.compile(rb"(%b) ([!-~]+) HTTP/(1\.[01])\r\n" % _TOKEN)
_FIELD = re.compile(rb"(%b):[ \t]*((?:%b(?:[ \t]*%b)*)?)[ \t]*\r\n" % (_TOKEN, _TEXT, _TEXT))
_SIZE = re.compile(rb"([0-9A-Fa-f]+)(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")

Fields = dict[bytes, bytes]


class _Stop(Exception):
    """The rest is malformed, or has not arrived."""


@dataclass(frozen=True)
class Sent:
    """One request. Fields by lower-case name, repeated ones joined; the body is None if it is not whole."""

    method: bytes
    target: bytes
    fields: Fields
    body: bytes | None


def read(data: bytes) -> list[Sent]:
    """Returns the requests in the data. The last one may lack its body, and nothing behind it counts."""
    requests: list[Sent] = []
    at, is_last = 0, False
    while not is_last:
        while data.startswith(b"\r\n", at):
            at += 2
        try:
            method, target, version, fields, at = _head(data, at)
            framing = _framing(version, fields)
        except _Stop:
            break
        joined = {name: b",".join(value for each, value in fields if each == name) for name, _ in fields}
        is_last = method == b"CONNECT" or version == b"1.0" or b"close" in _tokens(joined)
        try:
            body, at = (b"", at) if method == b"CONNECT" else _body(data, at, framing)
        except _Stop:
            requests.append(Sent(method, target, joined, None))
            break
        requests.append(Sent(method, target, joined, body))
    return requests


def _head(data: bytes, at: int) -> tuple[bytes, bytes, bytes, list[tuple[bytes, bytes]], int]:
    line = _LINE.match(data, at)
    if line is None:
        raise _Stop
    fields, end = _fields(data, line.end())
    return line[1], line[2], line[3], fields, end


def _fields(data: bytes, at: int) -> tuple[list[tuple[bytes, bytes]], int]:
    """Returns the fields of a head or of a trailer section, and the offset behind their empty line."""
    fields = []
    while not data.startswith(b"\r\n", at):
        field = _FIELD.match(data, at)
        if field is None:
            raise _Stop
        fields.append((field[1].lower(), field[2]))
        at = field.end()
    return fields, at + 2


def _framing(version: bytes, fields: list[tuple[bytes, bytes]]) -> int | None:
    """Returns the length of the body, or None for one in chunks."""
    hosts, lengths, codings = (
        [value for name, value in fields if name == wanted]
        for wanted in (b"host", b"content-length", b"transfer-encoding")
    )
    if len(hosts) > 1 or (version == b"1.1" and not hosts):
        raise _Stop
    if codings:
        if lengths or version == b"1.0" or [each.lower() for each in codings] != [b"chunked"]:
            raise _Stop
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not re.fullmatch(rb"[0-9]+", lengths[0]):
        raise _Stop
    return int(lengths[0])


def _body(data: bytes, at: int, length: int | None) -> tuple[bytes, int]:
    if length is not None:
        if len(data) - at < length:
            raise _Stop
        return data[at : at + length], at + length
    body = b""
    while True:
        line = _SIZE.match(data, at)
        if line is None:
            raise _Stop
        size, at = int(line[1], 16), line.end()
        if size == 0:
            return body, _fields(data, at)[1]
        if data[at + size : at + size + 2] != b"\r\n":
            raise _Stop
        body += data[at : at + size]
        at += size + 2


def _tokens(fields: Fields) -> list[bytes]:
    return [each.strip().lower() for each in fields.get(b"connection", b"").split(b",")]
