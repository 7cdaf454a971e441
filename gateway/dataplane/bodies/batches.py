"""The operations of a batch. All are checked before any is done; the first malformed one refuses all."""

import msgspec
from msgspec import Raw, Struct

from backends.tables import ANY, Condition
from gateway.dataplane.bodies.conditions import condition_in_batch
from gateway.dataplane.bodies.decoding import decode, decode_list, warn
from gateway.dataplane.bodies.fields import ABSENT, key_in, text_in, ttl_in, value_in
from gateway.dataplane.diagnostics import explain_fields, explain_type
from gateway.domain.errors import InvalidOperations, InvalidPrecondition, Refusal
from gateway.domain.model import Batch, Delete, Get, Operation, Put, ResponseNotes
from gateway.domain.rules import BATCH_OPERATIONS, Limits


class _Element(Struct, forbid_unknown_fields=True):
    """One operation as it was sent."""

    op: Raw = ABSENT
    key: Raw = ABSENT
    value: Raw = ABSENT
    ttl_seconds: Raw = msgspec.field(default=ABSENT, name="ttlSeconds")
    if_match: Raw = msgspec.field(default=ABSENT, name="ifMatch")
    if_none_match: Raw = msgspec.field(default=ABSENT, name="ifNoneMatch")


class _Body(Struct, forbid_unknown_fields=True):
    operations: Raw = ABSENT


_OPERATIONS = {operation.value: operation for operation in (Operation.PUT, Operation.GET, Operation.DELETE)}
_KNOWN_WITHOUT_VALUE = ("op", "key")

_decoder = msgspec.json.Decoder(_Body)
_element_decoder = msgspec.json.Decoder(_Element)


def parse_batch(body: bytes, limits: Limits, notes: ResponseNotes) -> Batch:
    """Parses the body of a batch. Raises InvalidJson, InvalidOperations, or the refusal of one operation."""
    raw = decode(body, _decoder, notes).operations
    elements = decode_list(raw) if raw is not ABSENT else None
    if elements is None:
        raise InvalidOperations(explain_type("operations", bytes(raw), "an array"))
    if not elements:
        raise InvalidOperations("operations: empty, at least 1")
    if len(elements) > BATCH_OPERATIONS:
        raise InvalidOperations(f"operations: {len(elements)}, at most {BATCH_OPERATIONS}")
    return Batch(tuple(_operation(index, bytes(each), limits, notes) for index, each in enumerate(elements)))


def _operation(index: int, sent: bytes, limits: Limits, notes: ResponseNotes) -> Put | Get | Delete:
    place = f"operations[{index}]"
    if not sent.startswith(b"{"):
        raise InvalidOperations(explain_type(place, sent, "an object"))
    element = decode(sent, _element_decoder, notes, f"{place}: ")
    try:
        operation = _parse(element, limits)
    except Refusal as refusal:
        refusal.detail = f"{place}.{refusal.detail}"
        raise
    if not isinstance(operation, Put):
        _warn_of_unused(place, element, notes)
    return operation


def _parse(element: _Element, limits: Limits) -> Put | Get | Delete:
    operation = _OPERATIONS.get(text_in("op", element.op, InvalidOperations))
    if operation is None:
        raise InvalidOperations("op: not put, get or delete")
    key = key_in(element.key, limits.key_bytes)
    if operation is Operation.PUT:
        value = value_in(element.value, limits.value_bytes)
        ttl_seconds = ttl_in(element.ttl_seconds, limits)
        return Put(key, value, ttl_seconds, _condition(operation, element))
    condition = _condition(operation, element)
    return Get(key) if operation is Operation.GET else Delete(key, condition)


def _condition(operation: Operation, element: _Element) -> Condition:
    if element.if_match is ABSENT and element.if_none_match is ABSENT:
        return ANY
    return condition_in_batch(
        operation, _tag("ifMatch", element.if_match), _tag("ifNoneMatch", element.if_none_match)
    )


def _tag(name: str, raw: Raw) -> bytes | None:
    return None if raw is ABSENT else text_in(name, raw, InvalidPrecondition).encode()


def _warn_of_unused(place: str, element: _Element, notes: ResponseNotes) -> None:
    """Names the fields of a put that a get or delete has: they are ignored, as in a call of their own."""
    fields = (("value", element.value), ("ttlSeconds", element.ttl_seconds))
    unused = [name for name, raw in fields if raw is not ABSENT]
    if unused:
        warn(notes, f"{place}: {explain_fields(unused, _KNOWN_WITHOUT_VALUE)}")
