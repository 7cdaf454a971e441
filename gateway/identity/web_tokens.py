"""JSON Web Tokens (RFC 7519) of known issuers: verified once, then remembered until they end."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from cachetools import LRUCache
from msgspec import Meta, Struct

from backends.clock import Clock
from gateway.identity.issuer_keys import IssuerKeys
from gateway.identity.keys import KeySet

LONGEST_TOKEN = 16_384
MOST_REMEMBERED = 10_000
ALGORITHMS = frozenset({"RS256", "ES256", "EdDSA"})

_EARLY_SECONDS = 60
"""By which a token may be used before its `nbf`: clocks differ. Its end is not moved."""

_FORM = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class TrustedIssuer(Struct, frozen=True):
    """An issuer, the audience that its tokens must be for, and its keys."""

    name: str
    audience: str
    keys: IssuerKeys


class Claims(Struct, frozen=True):
    """What an issuer vouches for; `all` has every claim as it was sent."""

    issuer: str
    subject: str
    all: Mapping[str, Any]


class _Header(Struct, frozen=True):
    alg: str
    kid: Annotated[str, Meta(max_length=1024)] | None = None


class _Stated(Struct, frozen=True):
    """What is read before it is known to be true."""

    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=255)]
    exp: Annotated[float, Meta(le=253_402_300_799)]
    nbf: float = 0


Judged = TypeVar("Judged")


class _Remembered(Struct, Generic[Judged], frozen=True):
    judged: Judged
    expires_at_seconds: float
    issuer: TrustedIssuer
    keys: KeySet


class WebTokens(Generic[Judged]):
    """Verifies tokens. `judge` says what claims stand for, which is what is remembered: at most 10,000.

    What is remembered is forgotten once the issuer shows other keys: one of them may have been withdrawn.
    """

    def __init__(
        self, issuers: Mapping[str, TrustedIssuer], judge: Callable[[Claims], Judged], clock: Clock
    ) -> None:
        self._issuers = issuers
        self._judge = judge
        self._clock = clock
        self._remembered: LRUCache[bytes, _Remembered[Judged]] = LRUCache(MOST_REMEMBERED)

    @property
    def keys(self) -> list[IssuerKeys]:
        """Of all issuers."""
        return [issuer.keys for issuer in self._issuers.values()]

    async def verify(self, token: bytes) -> Judged | None:
        """What the token's claims stand for; None if it proves nothing. Raises KeysUnavailable."""
        if not self._issuers or len(token) > LONGEST_TOKEN or not _FORM.fullmatch(token):
            return None
        digest = sha256(token).digest()
        known = self._remembered.get(digest)
        if known is not None and known.issuer.keys.keys is known.keys:
            return known.judged if self._now_seconds() < known.expires_at_seconds else None
        return await self._verify(token, digest)

    async def _verify(self, token: bytes, digest: bytes) -> Judged | None:
        parts = _parts(token)
        if parts is None:
            return None
        header, stated = parts
        issuer = self._issuers.get(stated.iss)
        if issuer is None or header.alg not in ALGORITHMS or not self._is_in_time(stated):
            return None
        key = await issuer.keys.find(header.kid, header.alg)
        if key is None:
            return None
        keys = issuer.keys.keys
        from gateway.identity.jose import verified_claims  # noqa: PLC0415 - see there

        claims = verified_claims(
            token, key, algorithm=header.alg, audience=issuer.audience, issuer=issuer.name
        )
        if claims is None:
            return None
        judged = self._judge(Claims(issuer.name, stated.sub, claims))
        self._remembered[digest] = _Remembered(judged, stated.exp, issuer, keys)
        return judged

    def _is_in_time(self, stated: _Stated) -> bool:
        now_seconds = self._now_seconds()
        return stated.nbf - _EARLY_SECONDS <= now_seconds < stated.exp

    def _now_seconds(self) -> float:
        return self._clock.wall_ms() / 1000


def decoded_part(part: bytes) -> bytes:
    """A part of a token as bytes: base64url without its padding (RFC 7515). Raises ValueError."""
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def _parts(token: bytes) -> tuple[_Header, _Stated] | None:
    header, payload, _ = token.split(b".")
    try:
        return (
            msgspec.json.decode(decoded_part(header), type=_Header),
            msgspec.json.decode(decoded_part(payload), type=_Stated),
        )
    except (ValueError, RecursionError):
        return None
