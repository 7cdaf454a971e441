"""Logs: one JSON object per line on standard error. Messages are fixed text; what varies stands in fields."""

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

_TALKATIVE = ("aiobotocore", "botocore", "opentelemetry", "urllib3")
"""They log requests with all that is secret in them; adapters tell in their own words what is wrong."""

context_fields: set[Callable[[], dict[str, str]]] = set()
"""Further fields of each line, asked for when it is written: those of traces, where requests are traced."""

Current = Callable[[], str | None]

_connections: dict[asyncio.Task[None], Current] = {}
"""Which request a task serves. A connection is one task that serves its requests in turn; work that is
started beside it, for several requests or for none, has no request id. Asked only when a line is logged."""


class LineBudget:
    """At most so many lines in each second."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._second = 0
        self._written = 0

    def admits(self, now_seconds: float) -> bool:
        """Whether one more line may be written now."""
        second = int(now_seconds)
        if second != self._second:
            self._second, self._written = second, 0
        self._written += 1
        return self._written <= self._per_second


class JsonFormatter(logging.Formatter):
    """A record as JSON. Of an exception only type and place are kept: its message may quote a secret."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.msg if record.exc_info else record.getMessage(),
        }
        line.update(_surroundings())
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            line.update(describe_fault(record.exc_info[1]))
        return json.dumps(line, default=str)


def _surroundings() -> dict[str, str]:
    """The request that is being served while the line is written, and its trace."""
    request_id = current_request_id()
    fields = {} if request_id is None else {"request_id": request_id}
    for further in context_fields:
        fields |= further()
    return fields


def configure_logging(level: str) -> None:
    """Send everything to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def report_fault(log: logging.Logger, fault: BaseException) -> None:
    """One line about what nobody foresaw."""
    log.error("unforeseen fault", extra={"fields": describe_fault(fault)})


def describe_fault(fault: BaseException) -> dict[str, object]:
    """The type of the exception and of its causes, and the lines it passed through."""
    frames = traceback.extract_tb(fault.__traceback__)
    kinds = [type(fault).__name__]
    cause = fault.__cause__
    while cause is not None and len(kinds) < 5:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    return {"fault": kinds, "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-10:]]}


def name_request_of(task: asyncio.Task[None], current: Current) -> None:
    """From now on `current` tells which request the task is serving."""
    _connections[task] = current


def forget_task(task: asyncio.Task[None]) -> None:
    """The task serves no more requests."""
    _connections.pop(task, None)


def current_request_id() -> str | None:
    """The id of the request that the running task serves; None if it serves none."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread without an event loop
        return None
    current = None if task is None else _connections.get(task)
    return None if current is None else current()
