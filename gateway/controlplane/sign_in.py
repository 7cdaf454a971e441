"""Issuers through which people sign in to the console. None of it is secret: browsers need no token."""

import re

from msgspec import Struct

_ISSUER = re.compile(
    r"(?P<origin>(?P<scheme>https?)://"
    r"(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?)"
    r"(?:/[A-Za-z0-9._~%/-]*)?"
)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class SignInIssuer(Struct, frozen=True):
    """An issuer (OpenID Connect Discovery), and the client id of the console there."""

    issuer: str
    client_id: str
    scope: str = "openid"


class SignIn(Struct, frozen=True):
    """Issuers with addresses that a browser can open, and their origins."""

    issuers: tuple[SignInIssuer, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def content_security_policy(self) -> str:
        """Allows scripts and styles of the own origin, and requests also to the issuers' origins."""
        return "; ".join((
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            " ".join(("connect-src 'self'", *self.origins)),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ))  # fmt: skip


def origin_of(issuer: str) -> str | None:
    """Returns the origin of an issuer for the policy, or None if a browser must not open its address.

    http is allowed only on this machine, so that codes and tokens cross no network in the clear.
    """
    match = _ISSUER.fullmatch(issuer)
    if match is None or (match["scheme"] == "http" and match["host"] not in _LOOPBACK):
        return None
    return match["origin"]
