"""`clients/scenarios.yaml` as values."""

import re
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from tests.support.repository import ROOT

FILE = ROOT / "clients" / "scenarios.yaml"
OPERATIONS = ("put", "put_raw", "get", "get_raw", "delete", "get_or_set", "made")
ANY = "*"
"""In an expectation: anything that is not null."""


@dataclass(frozen=True)
class Call:
    """One operation, perhaps many times at once, and what it comes to."""

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
    """What is asked of every client, and what the server must then have seen."""

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
    """All scenarios; a field that nobody knows is a mistake of the file."""
    return [_scenario(each) for each in yaml.safe_load(FILE.read_text())]


def _scenario(said: dict[str, Any]) -> Scenario:
    calls = tuple(_call(each) for each in said.pop("calls", ()))
    return Scenario(calls=calls, **said)


def _call(said: dict[str, Any]) -> Call:
    (operation,) = (name for name in said if name in OPERATIONS)
    expected = {name: value for name, value in said.items() if name in EXPECTATIONS}
    arguments = {name: _filled(value) for name, value in said.items() if name not in {operation, *expected}}
    if operation != "made":
        arguments["key"] = _filled(said[operation])
    return Call(operation, arguments, **expected)


def _filled(value: Any) -> Any:
    """`{513}` stands for so many characters."""
    size = re.fullmatch(r"\{(\d+)\}", value) if isinstance(value, str) else None
    return "x" * int(size[1]) if size else value
