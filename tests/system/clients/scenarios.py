"""`clients/scenarios.yaml` as values."""

import re
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from tests.support.repository import ROOT

FILE = ROOT / "clients" / "scenarios.yaml"
OPERATIONS = (
    "put",
    "put_raw",
    "get",
    "get_raw",
    "delete",
    "get_or_set",
    "made",
    "server_sends",
    "server_ends",
)
OF_THE_SERVER = ("server_sends", "server_ends")
"""Steps between the calls of a client, made by the scripted server."""
OPERATIONS = ("put", "put_raw", "get", "get_raw", "delete", "get_or_set", "made", *OF_THE_SERVER)
ANY = "*"
"""Matches anything but null in an expectation."""


@dataclass(frozen=True)
class Call:
    """One operation, possibly several times concurrently, with the expected result."""

    operation: str
    arguments: dict[str, Any]
    result: Any = None
    error: dict[str, Any] | None = None
    results: dict[str, int] | None = None
    times: int = 1
    cancel_after_requests: int | None = None
    earlier_than_seconds: float | None = None
    not_earlier_than_seconds: float | None = None


@dataclass(frozen=True)
class Scenario:
    """Calls of every client, with the expected results and requests."""

    name: str
    server: str
    calls: tuple[Call, ...] = ()
    script: list[dict[str, Any]] = field(default_factory=list)
    requests_per_minute: int = 1_000_000
    environment: dict[str, str | None] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    opens: dict[str, Any] | None = None
    seen: dict[str, Any] = field(default_factory=dict)


EXPECTATIONS = {each.name for each in fields(Call)} - {"operation", "arguments"}


def load() -> list[Scenario]:
    """Loads all scenarios; an unknown field raises."""
    return [_scenario(each) for each in yaml.safe_load(FILE.read_text())]


def _scenario(entry: dict[str, Any]) -> Scenario:
    calls = tuple(_call(each) for each in entry.pop("calls", ()))
    return Scenario(calls=calls, **entry)


def _call(entry: dict[str, Any]) -> Call:
    (operation,) = (name for name in entry if name in OPERATIONS)
    expected = {name: value for name, value in entry.items() if name in EXPECTATIONS}
    arguments = {name: _filled(value) for name, value in entry.items() if name not in {operation, *expected}}
    if operation in OF_THE_SERVER:
        arguments["text"] = entry[operation]
    elif operation != "made":
        arguments["key"] = _filled(entry[operation])
    return Call(operation, arguments, **expected)


def _filled(value: Any) -> Any:
    """Replaces `{513}` by as many characters."""
    size = re.fullmatch(r"\{(\d+)\}", value) if isinstance(value, str) else None
    return "x" * int(size[1]) if size else value
