"""JSON by the standard library: an independent judge of bodies."""

import json
import re
from dataclasses import dataclass
from typing import Any

from backends.interface import Keyspace
from gateway.dataplane.bodies import parse
from gateway.domain.answers import Answer, add_notes, refuse
from gateway.domain.call import Call, Headers
from gateway.domain.errors import Refusal
from gateway.domain.model import (
    Batch,
    Increment,
    List,
    Operation,
    Put,
    ResponseNotes,
    TableOperation,
    Touch,
)
from gateway.domain.rules import Limits

JSON_HEADERS = Headers([(b"content-type", b"application/json")])
LIMITS = Limits()
KEYSPACE = Keyspace("keyspace")
LARGEST = 9_007_199_254_740_991

_SECRETS = re.compile(rb"[A-Za-z0-9_+/=-]{33,}")
_LONE = re.compile("[\ud800-\udfff]")


def judge(
    operation: Operation, body: bytes, headers: Headers = JSON_HEADERS
) -> tuple[TableOperation | None, str | None]:
    """Returns the request in the body, or the code of its refusal."""
    notes = ResponseNotes()
    try:
        return parse(Call(operation, b"/", headers, body, ""), LIMITS, notes, KEYSPACE), None
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
        sent = strict_object(body)
        assert isinstance(sent, dict)
        assert_read(request, sent)


def assert_read(request: TableOperation, sent: dict[str, Any]) -> None:
    """Checks the operation against the members of its object."""
    match request:
        case Batch(operations):
            for each, members in zip(operations, sent["operations"], strict=True):
                assert_read(each, members)
        case List(prefix, after, limit, has_values):
            default = Number("100")
            assert (prefix, after) == (sent.get("prefix", ""), "")
            assert (str(limit), has_values) == (sent.get("limit", default).text, sent.get("values", False))
        case _:
            assert request.key == sent["key"]
    if isinstance(request, Put):
        assert strict_object(b'{"v":' + request.value + b"}")["v"] == sent["value"]
    if isinstance(request, Put | Increment | Touch):
        ttl = sent.get("ttlSeconds")
        assert request.ttl_seconds == (None if ttl is None else int(ttl.text))
    if isinstance(request, Increment):
        assert request.by == int(sent.get("by", Number("1")).text)


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


def refusal_of(operation: str, body: bytes, length_of_value: int = 0) -> str | None:
    """Returns the code that a body deserves, or None. The length is that of the value as sent."""
    sent = strict_object(body)
    if sent is None:
        return "invalid_json"
    if operation == "list":
        return _fault_of_list(sent)
    if operation == "batch":
        return _fault_of_batch(sent.get("operations"))
    return _fault_of_key(sent.get("key")) or _fault_behind_key(operation, sent, length_of_value)


def _fault_behind_key(operation: str, sent: dict[str, Any], length_of_value: int) -> str | None:
    if operation == "put" and ("value" not in sent or length_of_value > 65_536):
        return "invalid_value"
    if operation == "touch":
        ttl = sent.get("ttlSeconds", "missing")
        return None if ttl is None or _is_good_ttl(ttl) else "invalid_ttl"
    if operation in {"put", "increment"} and not _is_good_ttl(sent.get("ttlSeconds", Number("60"))):
        return "invalid_ttl"
    if operation == "increment" and not _is_within(sent.get("by", Number("1")), -LARGEST, LARGEST):
        return "invalid_by"
    return None


def _fault_of_key(key: Any) -> str | None:
    return None if _is_text(key) and key else "invalid_key"


def _fault_of_list(sent: dict[str, Any]) -> str | None:
    if not _is_text(sent.get("prefix", "")):
        return "invalid_prefix"
    if not _is_within(sent.get("limit", Number("1")), 1, 1000):
        return "invalid_limit"
    if sent.get("cursor") is not None:
        return "invalid_cursor"  # nobody has got one
    return None if isinstance(sent.get("values", False), bool) else "invalid_values"


def _fault_of_batch(operations: Any) -> str | None:
    if not isinstance(operations, list) or not 1 <= len(operations) <= 25:
        return "invalid_operations"
    return next((fault for each in operations if (fault := _fault_of_element(each))), None)


def _fault_of_element(sent: Any) -> str | None:
    if not isinstance(sent, dict) or sent.get("op") not in ("put", "get", "delete"):
        return "invalid_operations"
    operation = sent["op"]
    fault = _fault_of_key(sent.get("key")) or _fault_behind_key(operation, sent, 0)
    if fault is None and not _is_good_condition(operation, sent):
        return "invalid_precondition"
    return fault


def _is_good_condition(operation: str, sent: dict[str, Any]) -> bool:
    names = sent.keys() & {"ifMatch", "ifNoneMatch"}
    if names == {"ifMatch"}:
        tag = sent["ifMatch"]
        is_tag = isinstance(tag, str) and re.fullmatch(r'\*|"[!#-~]{1,32}"', tag)
        return operation != "get" and bool(is_tag)
    return not names or (names == {"ifNoneMatch"} and operation == "put" and sent["ifNoneMatch"] == "*")


def _is_text(text: Any) -> bool:
    return isinstance(text, str) and not _LONE.search(text) and len(text.encode()) <= 512


def _is_within(number: Any, least: int, most: int) -> bool:
    if not isinstance(number, Number) or not re.fullmatch("-?[0-9]{1,20}", number.text):
        return False
    return least <= int(number.text) <= most


def _is_good_ttl(ttl: Any) -> bool:
    return _is_within(ttl, 60, 31_536_000)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
