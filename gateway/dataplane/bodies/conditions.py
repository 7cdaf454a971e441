"""Conditions of writes: `If-Match` and `If-None-Match` (RFC 9110, section 13), and their fields in a batch.

A condition that would not be kept is refused: a caller who sends one relies on it.
"""

import re

from backends.tables import ABSENT, PRESENT, Condition
from gateway.dataplane.diagnostics import explain_tag
from gateway.domain.call import Headers
from gateway.domain.errors import InvalidPrecondition
from gateway.domain.model import Operation

IF_MATCH = b"if-match"
IF_NONE_MATCH = b"if-none-match"

_IN_HEADERS = ("If-Match", "If-None-Match")
_IN_BATCH = ("ifMatch", "ifNoneMatch")
_TAG = re.compile(rb'"([!#-~]{1,32})"')
_MATCHING = (Operation.PUT, Operation.DELETE, Operation.TOUCH)


def condition_in_headers(operation: Operation, headers: Headers) -> Condition:
    """Parses the condition in the header fields of a call. Raises InvalidPrecondition."""
    for field, name in zip((IF_MATCH, IF_NONE_MATCH), _IN_HEADERS, strict=True):
        if field in headers.repeated:
            raise InvalidPrecondition(f"{name}: sent more than once")
    return _condition(operation, headers.get(IF_MATCH), headers.get(IF_NONE_MATCH), _IN_HEADERS)


def condition_in_batch(
    operation: Operation, if_match: bytes | None, if_none_match: bytes | None
) -> Condition:
    """Parses the condition of an operation of a batch, in one field or two. Raises InvalidPrecondition."""
    return _condition(operation, if_match, if_none_match, _IN_BATCH)


def _condition(
    operation: Operation, if_match: bytes | None, if_none_match: bytes | None, names: tuple[str, str]
) -> Condition:
    """Parses a condition. Refusals call the fields by their `names`; at least one of them was sent."""
    if if_match is not None and operation not in _MATCHING:
        raise InvalidPrecondition(f"{names[0]}: sent with {operation}, only put, delete and touch allow it")
    if if_none_match is not None and operation is not Operation.PUT:
        raise InvalidPrecondition(f"{names[1]}: sent with {operation}, only put allows it")
    if if_match is None:
        if if_none_match != b"*":
            raise InvalidPrecondition(f"{names[1]}: only * is allowed")
        return ABSENT
    if if_none_match is not None:
        raise InvalidPrecondition(f"{names[0]}, {names[1]}: both were sent, only one is allowed")
    if if_match == b"*":
        return PRESENT
    tag = _TAG.fullmatch(if_match)
    if tag is None:
        raise InvalidPrecondition(explain_tag(names[0], if_match))
    return Condition(revision=tag[1].decode())
