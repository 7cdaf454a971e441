"""Audit lines, and the schema that every one of them fits."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator

import gateway.controlplane
from gateway.observability.logs import JsonFormatter

SCHEMA = json.loads(Path(gateway.controlplane.__file__).with_name("audit.schema.json").read_text())
_VALIDATOR = Draft202012Validator(SCHEMA)


class AuditLines(logging.Handler):
    """Keeps the lines of `kvs.audit` as operators see them."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())
        self._written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._written.append(self.format(record))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._written]


@contextmanager
def audit_lines() -> Iterator[AuditLines]:
    """All that are written from now on."""
    written, log = AuditLines(), logging.getLogger("kvs.audit")
    log.addHandler(written)
    try:
        yield written
    finally:
        log.removeHandler(written)


def faults_of(line: Any) -> list[str]:
    """Returns the schema's objections to a line."""
    return [f"{fault.instance_path}: {fault.message}" for fault in _VALIDATOR.iter_errors(line)]


def check_audit_lines_in(log: Path) -> None:
    """Fail if one of a process does not fit; the last line of one that was killed may be cut."""
    with log.open("rb") as lines:
        for text in lines:
            if b'"logger": "kvs.audit"' in text and text.endswith(b"}\n"):
                line = json.loads(text)
                assert faults_of(line) == [], line
