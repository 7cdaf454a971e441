"""JSON by the standard library: an independent judge of bodies."""

import json
import re
from dataclasses import dataclass
from typing import Any

from gateway.dataplane.parsing import parse
from gateway.domain.answers import Answer, add_notes, refuse
from gateway.domain.call import Call, Headers
from gateway.domain.errors import Refusal
from gateway.domain.model import Operation, Put, ResponseNotes, TableOperation
from gateway.domain.rules import Limits

JSON_HEADERS = Headers([(b"content-type", b"application/json")])
LIMITS = Limits()

_SECRETS = re.compile(rb"[A-Za-z0-9_+/=-]{33,}")
_LONE = re.compile("[\ud800-\udfff]")


def judge(
    operation: Operation, body: bytes, headers: Headers = JSON_HEADERS
) -> tuple[TableOperation | None, str | None]:
    """Returns the request in the body, or the code of its refusal."""
    notes = ResponseNotes()
    try:
        return parse(Call(operation, b"/", headers, body, ""), LIMITS, notes), None
    except Refusal as refusal:
        check_detail(refusal, *secrets_in(body))
        return None, refusal.code
    finally:
        for _, warning in add_notes(Answer(200, b""), notes).fields:
            check_text(warning, *secrets_in(body))


def check_detail(refusal: Refusal, *hidden: bytes) -> None:
    """Checks the detail of a refusal: visible ASCII, at most 256 characters, nothing that is `hidden`."""
    check_text(dict(refuse(refusal).fields)["x-kvs-error-detail"], *hidden)


def secrets_in(sent: bytes) -> list[bytes]:
    """Finds strings that are long enough to be a secret: a token, a key of AWS, a signature, a value."""
    return _SECRETS.findall(sent)


def check_text(text: str, *hidden: bytes) -> None:
    """Checks an explanation: visible ASCII, at most 256 characters, nothing that is `hidden`."""
    assert re.fullmatch("[ -~]{1,256}", text), text
    assert not any(each in text.encode() for each in hidden)


def assert_agreement(operation: Operation, body: bytes, *, max_depth: int | None = None) -> None:
    """Checks that the gateway judges the body as this module; bodies beyond `max_depth` are exempt."""
    request, code = judge(operation, body)
    if max_depth is not None and body.count(b"[") + body.count(b"{") > max_depth:
        return
    length = len(request.value) if isinstance(request, Put) else 0
    assert code == refusal_of(operation, body, length)
    if request is not None:
        assert request.key == strict_object(body)["key"]
    if isinstance(request, Put):
        assert strict_object(b'{"v":' + request.value + b"}")["v"] == strict_object(body)["value"]


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str


def strict_object(body: bytes) -> dict[str, Any] | None:
    """Returns the object in a body, or None if the body is not one JSON object in UTF-8."""
    try:
        decoded = json.loads(body.decode(), parse_constant=_refuse, parse_int=Number, parse_float=Number)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def refusal_of(operation: str, body: bytes, length_of_value: int) -> str | None:
    """Returns the code that a body deserves, or None. The length is that of the value as sent."""
    decoded = strict_object(body)
    if decoded is None:
        return "invalid_json"
    key = decoded.get("key")
    if not isinstance(key, str) or not key or _LONE.search(key) or len(key.encode()) > 512:
        return "invalid_key"
    if operation != "put":
        return None
    if "value" not in decoded or length_of_value > 65_536:
        return "invalid_value"
    return None if _is_good_ttl(decoded.get("ttlSeconds", Number("60"))) else "invalid_ttl"


def _is_good_ttl(ttl: Any) -> bool:
    if not isinstance(ttl, Number) or not ttl.text.isdigit() or len(ttl.text) > 20:
        return False
    return 60 <= int(ttl.text) <= 31_536_000


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
