"""Sign-in issuers as browsers need them before anyone is signed in. Nothing here is secret."""

import re

from msgspec import Struct

_ISSUER = re.compile(
    r"(?P<origin>(?P<scheme>https?)://"
    r"(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?)"
    r"(?:/[A-Za-z0-9._~%/-]*)?"
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class SignInIssuer(Struct, frozen=True):
    """An issuer (OpenID Connect Discovery), and the client that the console is there."""

    issuer: str
    client_id: str
    scope: str = "openid"


class SignIn(Struct, frozen=True):
    """Issuers with addresses that a browser can open, and their origins."""

    issuers: tuple[SignInIssuer, ...] = ()
    origins: tuple[str, ...] = ()


def origin_of(issuer: str) -> str | None:
    """Returns the origin of an issuer whose address a browser can open, the one that its policy may contain.

    Codes and tokens cross no network in the clear: http is for issuers on this machine.
    """
    match = _ISSUER.fullmatch(issuer)
    if match is None or (match["scheme"] == "http" and match["host"] not in _LOOPBACK):
        return None
    return match["origin"]
