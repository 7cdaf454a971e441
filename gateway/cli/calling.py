"""The failures of commands: exit codes, errors as JSON, and checks of what users configure."""

import argparse
import json
import re
import ssl
from enum import IntEnum
from urllib.parse import urlsplit

from gateway.directory.errors import ChangeUnknown
from gateway.domain.rules import is_text


class Exit(IntEnum):
    """Exit codes by kind of failure."""

    OK = 0
    GENERAL = 1
    NOT_AUTHORIZED = 2
    NOT_FOUND = 3
    INVALID = 4
    NETWORK = 5


class CommandFailed(Exception):
    """Ends the command with `exit_code`, and with a JSON report on standard error.

    The report has a code (`error`) for scripts and an explanation (`detail`) for people.
    """

    def __init__(self, exit_code: Exit, error: str, detail: str, **more: object) -> None:
        super().__init__(error)
        self.exit_code = exit_code
        self.report: dict[str, object] = {"error": error, "detail": detail, **more}


def exit_for_status(status: int) -> Exit:
    """Returns the exit code for a refusal by the control plane."""
    if status in (401, 403):
        return Exit.NOT_AUTHORIZED
    if status == 404:
        return Exit.NOT_FOUND
    return Exit.INVALID if 400 <= status < 500 else Exit.GENERAL


def report_text(report: dict[str, object]) -> str:
    """Returns the report as JSON for people, in which every character is printable.

    Parts of it may come from a server: a terminal would obey control characters, and reorder text that is
    written from right to left.
    """
    text = json.dumps(report, indent=2, ensure_ascii=False)
    return "".join(each if each.isprintable() or each == "\n" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def check_text(arguments: argparse.Namespace) -> None:
    """Checks that all arguments are text, which a request can carry. Raises CommandFailed."""
    for name, value in vars(arguments).items():
        if isinstance(value, str) and not is_text(value):
            detail = f"--{name}: {value!a} is not valid UTF-8"
            raise CommandFailed(Exit.INVALID, "usage", detail)


def unreachable(error: OSError, url: str, server: str) -> CommandFailed:
    """Returns the failure of a command that got no HTTP response from `server` at `url`."""
    if isinstance(error, ConnectionRefusedError):
        detail = f"nothing listens at {url}: check that {server} is running, and that the URL is right"
    elif isinstance(error, ssl.SSLCertVerificationError):
        detail = (
            f"the certificate of {url} is not trusted ({error.verify_message}): "
            "set SSL_CERT_FILE to the certificates of its authority"
        )
    else:
        why = error.strerror or error
        detail = f"cannot reach {url} ({why}): check that the URL is right"
    return CommandFailed(Exit.NETWORK, "network", detail, url=url)


def base_address(url: str, example: str) -> str:
    """Returns the address without a trailing slash. Raises CommandFailed."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        is_usable = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
        is_usable = is_usable and not set("?#@") & set(url)  # a path is appended
    except ValueError:
        is_usable = False
    if not is_usable or not re.fullmatch(r"[!-~]+", url):
        shown = "it names a user" if "@" in url else repr(url)  # and may contain a password
        detail = f"not a URL of a server: {shown}; expected a URL like {example}"
        raise CommandFailed(Exit.INVALID, "invalid_url", detail)
    return url.rstrip("/")


def authorization(token: str | None, variable: str, error: str) -> dict[str, str]:
    """Returns the header that carries a token. Raises CommandFailed, which never quotes the token."""
    if not token:
        return {}
    if not re.fullmatch(r"[!-~]+", token.strip()):
        detail = f"{variable} contains a space, a control or non-ASCII character: set it to the token"
        raise CommandFailed(Exit.INVALID, error, detail)
    return {"Authorization": f"Bearer {token.strip()}"}


_READING = ("list", "show")
_REPEAT = "repeat the command"
_NEXT_STEPS = {
    ("tables", "create"): f"{_REPEAT}; if it fails with table_exists, `tables rotate` issues a new token",
    ("tables", "delete"): f"{_REPEAT}; if it fails with table_not_found, the table is deleted",
    ("apps", "remove"): f"{_REPEAT}; if it fails with app_not_found, the app is removed",
}


def advise(failure: CommandFailed, command: str, action: str) -> None:
    """Adds the next step to the report of a failed change that may have been applied (D132)."""
    if action in _READING:
        return
    is_unknown = failure.report["detail"] == ChangeUnknown.detail
    if is_unknown or failure.exit_code is Exit.NETWORK:
        failure.report["next"] = _NEXT_STEPS.get((command, action), _REPEAT)
