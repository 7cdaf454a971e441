"""A call with one mistake, and its answer."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.config import TABLE_TOKEN

GOOD = {"key": "k", "value": 1}


@dataclass(frozen=True)
class Mistake:
    """A call that is good except for the given parts, and its answer. `late_*` replace signed parts."""

    status: int
    code: str | None
    detail: str
    warning: str | None = None
    operation: str = "put"
    path: str | None = None
    method: str = "POST"
    body: Any = field(default_factory=lambda: GOOD)
    headers: dict[str, str] = field(default_factory=dict)
    token: str | None = f"Bearer {TABLE_TOKEN}"
    signer: dict[str, Any] | None = field(default_factory=dict)
    session: dict[str, Any] | None = None
    clock_off_seconds: int = 0
    late_headers: dict[str, str | None] = field(default_factory=dict)
    late_body: bytes | None = None
    wait_seconds: int = 0
    calls_before: int = 0
    configuration: dict[str, Any] = field(default_factory=dict)
