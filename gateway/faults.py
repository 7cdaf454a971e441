"""Exceptions as log fields: what and where, never the message, which may quote a key, a value or a token."""

import logging
import traceback


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
