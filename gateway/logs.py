"""Logs: one JSON object per line on standard error. Messages are fixed text; what varies stands in fields."""

import json
import logging
import sys
from datetime import UTC, datetime

from gateway.faults import describe_fault

_TALKATIVE = ("aiobotocore", "botocore", "urllib3")
"""They log requests with all that is secret in them; adapters tell in their own words what is wrong."""


class JsonFormatter(logging.Formatter):
    """A record as JSON. Of an exception only type and place are kept: its message may quote a secret."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.msg if record.exc_info else record.getMessage(),
        }
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            line.update(describe_fault(record.exc_info[1]))
        return json.dumps(line, default=str)


def configure_logging(level: str) -> None:
    """Send everything to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
