"""Answers of an endpoint to a call: correct ones, refusals, and damaged ones."""

import enum
import json
import zlib
from dataclasses import dataclass, replace
from typing import Any, Self

JSON = "application/x-amz-json-1.0"

_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
_SERVICE = "com.amazon.coral.service#"
_NAMESPACES = {
    "AccessDeniedException": _SERVICE,
    "ExpiredTokenException": _SERVICE,
    "IncompleteSignatureException": _SERVICE,
    "InvalidSignatureException": _SERVICE,
    "MissingAuthenticationTokenException": _SERVICE,
    "UnrecognizedClientException": _SERVICE,
    "SerializationException": _SERVICE,
    "ThrottlingException": "com.amazon.coral.availability#",
    "ValidationException": "com.amazon.coral.validate#",
}
_STATUSES = {"InternalServerError": 500, "InternalFailure": 500, "ServiceUnavailable": 503}


class Ending(enum.Enum):
    """Fate of the connection after the answer."""

    KEEP = enum.auto()
    CLOSE = enum.auto()
    RESET = enum.auto()


@dataclass(frozen=True)
class Answer:
    """One response; the methods return the same response with something wrong."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    crc32: int | None = None
    """Value of `x-amz-crc32`; None if the header is missing."""
    date: str | None = None
    delay_s: float = 0.0
    sent_bytes: int | None = None
    """Number of body bytes sent; None for all. Content-Length is the whole body's."""
    pause_at: int | None = None
    """Position in the body at which the packet ends, and the pause after it."""
    pause_s: float = 0.0
    ending: Ending = Ending.KEEP
    raw: bool = False
    """The body is all that is sent, without a head."""

    def late(self, seconds: float) -> Self:
        return replace(self, delay_s=seconds)

    def with_wrong_crc32(self) -> Self:
        return replace(self, crc32=zlib.crc32(self.body) ^ 1)

    def without_crc32(self) -> Self:
        return replace(self, crc32=None)

    def with_a_flipped_bit(self) -> Self:
        """The checksum is that of what was meant."""
        middle = len(self.body) // 2
        flipped = self.body[:middle] + bytes([self.body[middle] ^ 1]) + self.body[middle + 1 :]
        return replace(self, body=flipped)

    def truncated(self, sent_bytes: int | None = None) -> Self:
        """Less of the body than announced, then the end of the connection."""
        sent = len(self.body) // 2 if sent_bytes is None else sent_bytes
        return replace(self, sent_bytes=sent, ending=Ending.CLOSE)

    def reset_in_the_middle(self) -> Self:
        return replace(self, sent_bytes=len(self.body) // 2, ending=Ending.RESET)

    def stuck_in_the_middle(self) -> Self:
        """Half of the body, then silence on an open connection."""
        return replace(self, sent_bytes=len(self.body) // 2)

    def in_two_packets(self, pause_seconds: float = 0.02) -> Self:
        return replace(self, pause_at=len(self.body) // 2, pause_s=pause_seconds)

    @property
    def head(self) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} X",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "x-amzn-RequestId: SCRIPTED",
        ]
        if self.crc32 is not None:
            lines.append(f"x-amz-crc32: {self.crc32}")
        if self.date is not None:
            lines.append(f"Date: {self.date}")
        return "\r\n".join([*lines, "", ""]).encode()


def answer(payload: dict[str, Any] | None = None, *, status: int = 200) -> Answer:
    """A good one, as DynamoDB gives it."""
    body = json.dumps(payload or {}, separators=(",", ":")).encode()
    return Answer(body, status, crc32=zlib.crc32(body))


def refusal(kind: str, *, status: int | None = None, message: str = "scripted", **members: Any) -> Answer:
    """An error by its name, with the status and the namespace that DynamoDB gives it."""
    namespace = _NAMESPACES.get(kind, _DYNAMODB)
    spelled = "Message" if namespace == _SERVICE else "message"
    payload = {"__type": namespace + kind, spelled: message, **members}
    return answer(payload, status=status or _STATUSES.get(kind, 400))


THROTTLED = refusal("ProvisionedThroughputExceededException", message="The level of throughput was exceeded.")
RESET = Answer(b"", raw=True, ending=Ending.RESET)
CLOSED = Answer(b"", raw=True, ending=Ending.CLOSE)
SILENCE = Answer(b"", raw=True)
GARBAGE = Answer(b"\x16\x03\x01\x00\xff\x00 not HTTP at all\r\n\r\n", raw=True, ending=Ending.CLOSE)
NOT_JSON = Answer(b"{'Item': None", crc32=zlib.crc32(b"{'Item': None"))
NOT_AN_OBJECT = Answer(b"[]", crc32=zlib.crc32(b"[]"))
PROXY_PAGE = Answer(
    b"<html><head><title>502 Bad Gateway</title></head><body>proxy</body></html>",
    status=502,
    content_type="text/html",
)
