"""Input of calls behind admission: bodies, conditions and cursors."""

import re

from gateway.dataplane.bodies.conditions import condition_in_headers
from gateway.dataplane.bodies.pages import read_cursor, write_cursor
from gateway.domain.call import Headers
from gateway.domain.errors import InvalidCursor, InvalidPrecondition
from gateway.domain.model import Operation
from tests.fuzz.oracle import KEYSPACE, assert_agreement, check_detail, secrets_in

ISSUED = write_cursor(KEYSPACE, "posts/", "posts/1")
"""Inputs name it `ISSUED`."""

_DEPTH = 400


def body(data: bytes) -> None:
    """The body of a call: judged as the standard library judges JSON."""
    for operation in Operation:
        assert_agreement(operation, data, max_depth=_DEPTH)


def precondition(data: bytes) -> None:
    """Two fields of a condition: accepted only if one of them is one strong tag, or `*`."""
    if_match, if_none_match = data.partition(b"\n")[::2]
    fields = [(b"if-match", if_match), (b"if-none-match", if_none_match)]
    headers = Headers([field for field in fields if field[1]])
    if not headers:
        return
    for operation in Operation:
        try:
            condition = condition_in_headers(operation, headers)
        except InvalidPrecondition as refusal:
            check_detail(refusal, *secrets_in(data))
            continue
        assert operation in {"put", "delete", "touch"}
        assert len(headers) == 1
        tag = condition.revision
        sent = headers.get(b"if-match") if tag is not None or condition.exists else headers[b"if-none-match"]
        assert sent == (b"*" if tag is None else f'"{tag}"'.encode())
        assert tag is None or re.fullmatch(r"[!#-~]{1,32}", tag)


def cursor(data: bytes) -> None:
    """Prefix and cursor: only a cursor that this list has written is read, and only as it was written."""
    prefix, sent = (part.decode("latin-1") for part in data.partition(b"\n")[::2])
    sent = sent.replace("ISSUED", ISSUED)
    try:
        after = read_cursor(KEYSPACE, prefix, sent)
    except InvalidCursor as refusal:
        check_detail(refusal, *secrets_in(data))
        return
    assert (prefix, after, sent) == ("posts/", "posts/1", ISSUED)
