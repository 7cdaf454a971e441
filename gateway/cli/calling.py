"""How commands call servers, and how they fail: exit codes, and errors as JSON.

Servers are called directly: a proxy or the target of a redirection would be handed the token.
"""

import re
from enum import IntEnum
from http.client import HTTPResponse
from typing import cast
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener


class Exit(IntEnum):
    """Exit codes by kind of failure."""

    OK = 0
    GENERAL = 1
    NOT_AUTHORIZED = 2
    NOT_FOUND = 3
    INVALID = 4
    NETWORK = 5


class CommandFailed(Exception):
    """Ends the command: `error` and `details` are printed as JSON, and `exit_code` goes to the shell."""

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


class _NoRedirects(HTTPRedirectHandler):
    """Neither a control listener nor Prometheus redirects."""

    def redirect_request(self, *_: object) -> None:
        return None


def call_directly(request: Request, *, timeout_seconds: float) -> HTTPResponse:
    """The response, to be closed by the caller. Raises what urllib raises."""
    opener = build_opener(ProxyHandler({}), _NoRedirects)
    return cast(HTTPResponse, opener.open(request, timeout=timeout_seconds))


def base_address(url: str, example: str) -> str:
    """The address without a trailing slash. Raises CommandFailed."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not re.fullmatch(r"[!-~]+", url):
        raise CommandFailed(Exit.INVALID, "invalid_url", message=f"expected something like {example}")
    return url.rstrip("/")


def authorization(token: str | None, variable: str, error: str) -> dict[str, str]:
    """The header that carries a token. Raises CommandFailed, without the token."""
    if not token:
        return {}
    if not re.fullmatch(r"[!-~]+", token.strip()):
        message = f"{variable} holds a character that a header cannot carry"
        raise CommandFailed(Exit.INVALID, error, message=message)
    return {"Authorization": f"Bearer {token.strip()}"}
