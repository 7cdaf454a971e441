"""What to do when a command cannot say whether it was applied (D132)."""

from gateway.cli.calling import CommandFailed, Exit
from gateway.directory.errors import ChangeUnknown

_READING = ("list", "show")
_REPEAT = "repeat the command"
_NEXT_STEPS = {
    ("tables", "create"): f"{_REPEAT}; if it fails with table_exists, tables rotate gives a token",
    ("tables", "delete"): f"{_REPEAT}; if it fails with table_not_found, the table is deleted",
    ("apps", "remove"): f"{_REPEAT}; if it fails with app_not_found, the app is removed",
}


def advise(failure: CommandFailed, command: str, action: str) -> None:
    """Add to the report of a failed change what to do next, if it may have been applied."""
    if action in _READING:
        return
    is_told = failure.report.get("detail") == ChangeUnknown.detail
    if is_told or failure.exit_code is Exit.NETWORK:
        failure.report["next"] = _NEXT_STEPS.get((command, action), _REPEAT)
