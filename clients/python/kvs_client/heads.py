"""Heads of answers in HTTP/1.1, parsed strictly: an answer whose end is not certain is refused."""

import re
from dataclasses import dataclass

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [\t -~\x80-\xff]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
_LENGTH = re.compile(r"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[\t -~\x80-\xff]*)?")
_WITHOUT_BODY = (101, 204, 304)


class MalformedHttp(ValueError):
    """Bytes that are no answer in HTTP/1.1. Without a text: it could quote a secret that a server echoes."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status and fields of an answer, names in lower case, and the framing of its body.

    `length` is None if the end of the connection is the end of the body, or if the body is chunked.
    """

    status: int
    fields: dict[str, str]
    length: int | None
    is_chunked: bool
    keeps_connection: bool

    @property
    def is_informational(self) -> bool:
        """True for an answer before the final one; 101 is final, as another protocol follows it."""
        return self.status < 200 and self.status != 101


def parsed_head(head: bytes) -> Head:
    """Parses a head without its empty line."""
    first, *lines = head.split(b"\r\n")
    matched = _STATUS_LINE.fullmatch(first)
    if matched is None:
        raise MalformedHttp
    status, is_latest = int(matched[2]), matched[1] == b"1"
    fields = parsed_fields(lines)
    is_chunked = "transfer-encoding" in fields
    length = None if is_chunked else _length(fields)
    if is_chunked and not (
        is_latest and fields["transfer-encoding"].lower() == "chunked" and "content-length" not in fields
    ):
        raise MalformedHttp
    if status in _WITHOUT_BODY:
        is_chunked, length = False, 0
    options = {each.strip().lower() for each in fields.get("connection", "").split(",")}
    keeps = is_latest and "close" not in options and status != 101 and (is_chunked or length is not None)
    return Head(status, fields, length, is_chunked, keeps)


def parsed_fields(lines: list[bytes]) -> dict[str, str]:
    """Parses fields; a repeated one becomes a list, as HTTP reads it."""
    fields: dict[str, str] = {}
    for line in lines:
        matched = _FIELD.fullmatch(line)
        if matched is None:
            raise MalformedHttp
        name, value = matched[1].decode().lower(), matched[2].decode("latin-1").strip(" \t")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


def parsed_chunk_size(line: bytes) -> int:
    """Parses the line before a chunk; extensions are ignored."""
    matched = _CHUNK.fullmatch(line)
    if matched is None:
        raise MalformedHttp
    return int(matched[1], 16)


def _length(fields: dict[str, str]) -> int | None:
    """Returns the declared length; two of them are a list, and so malformed."""
    declared = fields.get("content-length")
    if declared is None:
        return None
    if not _LENGTH.fullmatch(declared):
        raise MalformedHttp
    return int(declared)
