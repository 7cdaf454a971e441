"""Histories of each entry for the judge, as the clients of a simulated region saw it."""

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from lab.faults.linearizability import (
    MISSING,
    PRESENT,
    Add,
    Operation,
    Read,
    Swap,
    Write,
    first_violation,
)
from lab.simulation.requests import ABSENT, COUNTERS, Request, Table
from tests.support.wire import WireReply

UNCHARGED = {"invalid_token", "signature_mismatch", "auth_unavailable"}
NOT_CARRIED_OUT = {
    *("quota_unavailable", "rate_limited", "invalid_json", "overloaded", "storage_limit_reached"),
    *UNCHARGED,
}
Place = tuple[str, str, str]
"""An environment, a table and a key."""


class Witness:
    """Writes down answers. `wrong` is called with each fault that one answer shows."""

    def __init__(self, wrong: Callable[[str], None]) -> None:
        self._wrong = wrong
        self._histories: dict[Place, list[Operation]] = defaultdict(list)
        self._entries: dict[Place, dict[str, Any]] = defaultdict(dict)
        """The entry of each tag: a value that only one put has, or a sum."""
        self._unmet: list[tuple[Place, str, float, float]] = []
        """Tags in refusals, some of writes that nobody saw answered."""

    def tags_of(self, table: Table, key: str) -> list[str]:
        """Returns the tags that clients know, the latest last."""
        return list(self._entries[_place(table, key)])

    def took(self, request: Request, reply: WireReply, sent: float, now: float) -> None:
        try:
            self._take(request, reply, sent, now)
        except (KeyError, TypeError, ValueError):
            self._wrong(f"{request} was answered with {reply.body!r}")

    def _take(self, request: Request, reply: WireReply, sent: float, now: float) -> None:
        if reply.status == 200 and request.parts:
            for part, result in zip(request.parts, reply.json["results"], strict=True):
                if "error" not in result:
                    self._note(part, result, result.get("etag"), sent, now)
                elif result["error"] == "storage_unavailable":
                    self.took_nothing(part, sent)
        elif reply.status == 200:
            self._note(request, reply.json, reply.headers.get("etag"), sent, now)
        elif reply.error == "precondition_failed":
            self._note_unmet(request, reply.headers.get("etag"), sent, now)
        elif reply.error not in NOT_CARRIED_OUT:
            self.took_nothing(request, sent)

    def took_nothing(self, request: Request, sent: float) -> None:
        """Writes down that a call may have been applied, or may be later."""
        for each in request.writes if request.flaw is None else ():
            if each.by is not None:
                self._append(each, Add(each.by, None, sent))
            elif each.condition is not None:
                self._append(each, Swap(self._expected(each), each.written, sent))
            else:
                self._append(each, Write(each.written, sent))

    def listed(self, table: Table, key: str, value: Any, sent: float, now: float) -> None:
        """Writes down what a listing showed of a key, or that it did not show it."""
        found = MISSING if value is None else _entry(key, value)
        self._histories[_place(table, key)].append(Read(found, sent, now))

    def judge(self) -> None:
        for place, tag, sent, now in self._unmet:
            if tag in self._entries[place]:
                self._histories[place].append(Read(self._entries[place][tag], sent, now))
        for place, history in self._histories.items():
            violation = first_violation(history)
            if violation is not None:
                self._wrong(f"no order explains {violation} of {json.dumps(place)}")

    def _note(self, request: Request, answer: Any, tag: str | None, sent: float, now: float) -> None:
        match request.operation:
            case "get" if answer["found"]:
                found = _entry(request.key, answer["value"])
                self._tag(request, tag, found)
                self._append(request, Read(found, sent, now))
            case "get":
                self._append(request, Read(MISSING, sent, now))
            case "increment":
                self._tag(request, tag, answer["value"])
                self._append(request, Add(request.by or 0, answer["value"], sent, now))
            case "put" | "delete" if request.condition is None:
                self._append(request, Write(request.written, sent, now))
            case "put" | "delete":
                self._append(request, Swap(self._expected(request), request.written, sent, now))
        if request.operation == "put":
            self._tag(request, tag, request.value)

    def _note_unmet(self, request: Request, tag: str | None, sent: float, now: float) -> None:
        must_be_there, must_be_missing = request.condition == ABSENT, request.condition == "*"
        if tag == request.condition or (must_be_there if tag is None else must_be_missing):
            self._wrong(f"{request} was refused because of {tag}")
        elif tag is None:
            self._append(request, Read(MISSING, sent, now))
        else:
            self._unmet.append((_place(request.table, request.key), tag, sent, now))

    def _expected(self, request: Request) -> Any:
        if request.condition == ABSENT:
            return MISSING
        if request.condition == "*":
            return PRESENT
        return self._entries[_place(request.table, request.key)][request.condition or ""]

    def _tag(self, request: Request, tag: str | None, entry: Any) -> None:
        """Notes the tag of an entry; every entry has one of its own."""
        known = self._entries[_place(request.table, request.key)].setdefault(tag or "", entry)
        if tag is None or known != entry:
            self._wrong(f"{tag} is the tag of {known}, and of {entry}")

    def _append(self, request: Request, operation: Operation) -> None:
        self._histories[_place(request.table, request.key)].append(operation)


def is_in_order(keys: list[str]) -> bool:
    return all(one.encode() < other.encode() for one, other in pairwise(keys))


def _place(table: Table, key: str) -> Place:
    return table.environment, table.name, key


def _entry(key: str, value: Any) -> Any:
    return value if key in COUNTERS else json.dumps(value).encode()
