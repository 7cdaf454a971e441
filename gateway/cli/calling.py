"""How commands call servers: directly, and with a token that no other server gets to see."""

import re
from http.client import HTTPResponse
from typing import cast
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from gateway.cli.exits import CommandFailed, Exit


class _StayHere(HTTPRedirectHandler):
    """Neither a control listener nor Prometheus redirects; another server must not be handed the token."""

    def redirect_request(self, *_: object) -> None:
        return None


def call_directly(request: Request, *, timeout_seconds: float) -> HTTPResponse:
    """The response, to be closed. No proxy gets to see the token. Raises what urllib raises."""
    opener = build_opener(ProxyHandler({}), _StayHere)
    return cast(HTTPResponse, opener.open(request, timeout=timeout_seconds))


def base_address(url: str, example: str) -> str:
    """The address without a last slash. Raises CommandFailed."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not re.fullmatch(r"[!-~]+", url):
        raise CommandFailed(Exit.INVALID, "invalid_url", message=f"expected something like {example}")
    return url.rstrip("/")


def authorization(token: str | None, variable: str, error: str) -> dict[str, str]:
    """The header that carries a token. Raises CommandFailed, which does not repeat it."""
    if not token:
        return {}
    if not re.fullmatch(r"[!-~]+", token.strip()):
        message = f"{variable} holds a character that a header cannot carry"
        raise CommandFailed(Exit.INVALID, error, message=message)
    return {"Authorization": f"Bearer {token.strip()}"}
