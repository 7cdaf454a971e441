"""Logs: one JSON object per line on standard error. Messages are fixed text; variable parts are fields."""

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Protocol

audit_log = logging.getLogger("kvs.audit")
audit_log.setLevel(logging.INFO)  # independent of `logging.level`: every change is recorded

REFUSAL_LINES_PER_SECOND = 20
"""Limit for refusals of the control plane, and separately for those of the credentials plane."""

_TALKATIVE = ("aiobotocore", "botocore", "opentelemetry", "urllib3")
"""Libraries whose loggers quote requests with their secrets. Adapters log failures themselves."""

_MOST_CAUSES = 5
_MOST_FRAMES = 10
_MOST_KINDS = 100

context_fields: set[Callable[[], dict[str, str]]] = set()
"""Functions that add fields to each line when it is written: trace ids, if requests are traced."""


class HasRequestId(Protocol):
    """A connection, which serves one request after another."""

    @property
    def request_id(self) -> str | None:
        """Id of the current request; None between two requests."""
        ...


_connections: dict[asyncio.Task[None], HasRequestId] = {}
"""The connection that each task runs. The request id is looked up only when a line is logged. Work for
several requests, or for none, runs in tasks of its own and has no request id."""


class LogThrottle:
    """Admits at most `lines` log lines of each kind in a window of `seconds`.

    A failure that every request meets is logged, but not once per request. A window opens with the first
    line of its kind. The number of kinds is bounded: beyond it, lines of further kinds are dropped until a
    window closes. A race of two threads may admit one line too many.
    """

    def __init__(self, lines: int, seconds: float, now_seconds: Callable[[], float] = monotonic) -> None:
        self._lines = lines
        self._seconds = seconds
        self._now_seconds = now_seconds
        self._windows: dict[str, tuple[float, int]] = {}
        """End of the window and number of lines written, by kind."""

    def admits(self, kind: str = "") -> bool:
        """Returns True if the caller may write one more line of this kind."""
        now_seconds = self._now_seconds()
        ends_at, written = self._windows.get(kind, (now_seconds, 0))
        if now_seconds >= ends_at:
            ends_at, written = now_seconds + self._seconds, 0
        if written == self._lines or not self._has_room_for(kind, now_seconds):
            return False
        self._windows[kind] = ends_at, written + 1
        return True

    def _has_room_for(self, kind: str, now_seconds: float) -> bool:
        if kind not in self._windows and len(self._windows) >= _MOST_KINDS:
            self._windows = {
                each: window for each, window in self._windows.items() if window[0] > now_seconds
            }
        return kind in self._windows or len(self._windows) < _MOST_KINDS


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON. Of an exception it shows type and place; the message may quote a secret."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.msg if record.exc_info else record.getMessage(),
        }
        request_id = current_request_id()
        if request_id is not None:
            line["request_id"] = request_id
        for fields_of_context in context_fields:
            line.update(fields_of_context())
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            line.update(describe_exception(record.exc_info[1]))
        return json.dumps(line, default=str)


def configure_logging(level: str) -> None:
    """Sends all log lines to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def report_exception(log: logging.Logger, error: BaseException) -> None:
    """Logs one line about an unhandled exception."""
    log.error("unhandled exception", extra={"fields": describe_exception(error)})


def describe_exception(error: BaseException) -> dict[str, object]:
    """Describes an exception by its type, its causes' types and its frames, never by its message."""
    frames = traceback.extract_tb(error.__traceback__)
    kinds = [type(error).__name__]
    cause = error.__cause__
    while cause is not None and len(kinds) < _MOST_CAUSES:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-_MOST_FRAMES:]]
    return {"fault": kinds, "at": places}


def register(task: asyncio.Task[None], connection: HasRequestId) -> None:
    """Registers the connection that a task runs, for the request ids of its log lines (D48)."""
    _connections[task] = connection


def unregister(task: asyncio.Task[None]) -> None:
    """Removes a task that serves no more requests."""
    _connections.pop(task, None)


def current_request_id() -> str | None:
    """Returns the id of the request that the running task serves, or None."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread without an event loop
        return None
    connection = None if task is None else _connections.get(task)
    return None if connection is None else connection.request_id


class AuditContext:
    """Facts about one request of the control plane or the credentials plane, without tokens and secrets.

    They go into its audit event and its count, however it ends.

    `action` and `outcome` start with the values that a request has if it fails early or is cancelled.
    """

    def __init__(self, action: str, outcome: str) -> None:
        self.action, self.outcome = action, outcome
        self.actor: dict[str, str | None] = {}
        self.details: dict[str, object] = {}

    def identify(self, name: str, issuer: str | None) -> None:
        """Records the actor: the name of a configured token, or a subject with its issuer."""
        self.actor = {"actor": name} if issuer is None else {"actor": name, "issuer": issuer}

    def note(self, **details: object) -> None:
        """Adds details of the request."""
        self.details.update(details)
