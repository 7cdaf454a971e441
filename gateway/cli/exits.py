"""Exit codes and the errors that lead to them."""

from enum import IntEnum


class Exit(IntEnum):
    """What the shell learns."""

    OK = 0
    GENERAL = 1
    NOT_AUTHORIZED = 2
    NOT_FOUND = 3
    INVALID = 4
    NETWORK = 5


class CommandFailed(Exception):
    """Ends the command: `error` and `details` are printed as JSON, `exit` is the exit code."""

    def __init__(self, exit_code: Exit, error: str, **details: object) -> None:
        super().__init__(error)
        self.exit_code = exit_code
        self.report: dict[str, object] = {"error": error, **details}


def exit_for_status(status: int) -> Exit:
    """The exit code for a refusal of the control plane."""
    if status in (401, 403):
        return Exit.NOT_AUTHORIZED
    if status == 404:
        return Exit.NOT_FOUND
    return Exit.INVALID if 400 <= status < 500 else Exit.GENERAL
