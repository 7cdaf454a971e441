"""Verifies JSON Web Tokens (RFC 7519) of known issuers and caches the verdicts until the tokens expire."""

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
MAX_CACHED = 10_000
ALGORITHMS = frozenset({"RS256", "ES256", "EdDSA"})

_EARLY_SECONDS = 60
"""Clock skew allowed before `nbf`. `exp` is exact."""

_FORM = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class TrustedIssuer(Struct, frozen=True):
    """An issuer, its keys, and the audience that its tokens must name."""

    name: str
    audience: str
    keys: IssuerKeys


class Claims(Struct, frozen=True):
    """Verified claims; `all` holds every claim as it was sent."""

    issuer: str
    subject: str
    all: Mapping[str, Any]


class _Header(Struct, frozen=True):
    alg: str
    kid: Annotated[str, Meta(max_length=1024)] | None = None


class _UnverifiedClaims(Struct, frozen=True):
    """Claims that are read before the signature is verified, to find the issuer and the key."""

    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=255)]
    exp: Annotated[float, Meta(le=253_402_300_799)]
    nbf: float = 0


Subject = TypeVar("Subject")
"""The gateway's own notion of a token's subject: an identity with its grants, or a workload."""


class _Verified(Struct, Generic[Subject], frozen=True):
    subject: Subject
    expires_at_seconds: float
    issuer: TrustedIssuer
    keys: KeySet


def _admit() -> None:
    """Lets every signature be verified."""


class WebTokens(Generic[Subject]):
    """Verifies tokens and maps their claims to a subject by `subject_of`. At most 10,000 results are cached.

    A cached result counts only while its issuer's key set is the very object that verified it: a new set may
    lack a withdrawn key. Only valid tokens are cached, so invented ones evict nothing.
    """

    def __init__(
        self, issuers: Mapping[str, TrustedIssuer], subject_of: Callable[[Claims], Subject], clock: Clock
    ) -> None:
        self._issuers = issuers
        self._subject_of = subject_of
        self._clock = clock
        self._cache: LRUCache[bytes, _Verified[Subject]] = LRUCache(MAX_CACHED)

    @property
    def keys(self) -> list[IssuerKeys]:
        """Keys of all issuers."""
        return [issuer.keys for issuer in self._issuers.values()]

    async def verify(self, token: bytes, before_signature: Callable[[], None] = _admit) -> Subject | None:
        """Returns the subject of a valid token, else None. Raises KeysUnavailable.

        `before_signature` is called if a signature must be verified, and raises a refusal to prevent it.
        """
        if not self._issuers or len(token) > LONGEST_TOKEN or not _FORM.fullmatch(token):
            return None
        digest = sha256(token).digest()
        known = self._cache.get(digest)
        if known is not None and known.issuer.keys.keys is known.keys:
            return known.subject if self._now_seconds() < known.expires_at_seconds else None
        return await self._verify(token, digest, before_signature)

    async def _verify(
        self, token: bytes, digest: bytes, before_signature: Callable[[], None]
    ) -> Subject | None:
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
        before_signature()
        keys = issuer.keys.keys
        from gateway.identity.jose import verified_claims  # noqa: PLC0415 - see there

        claims = verified_claims(
            token, key, algorithm=header.alg, audience=issuer.audience, issuer=issuer.name
        )
        if claims is None:
            return None
        subject = self._subject_of(Claims(issuer.name, stated.sub, claims))
        self._cache[digest] = _Verified(subject, stated.exp, issuer, keys)
        return subject

    def _is_in_time(self, stated: _UnverifiedClaims) -> bool:
        now_seconds = self._now_seconds()
        return stated.nbf - _EARLY_SECONDS <= now_seconds < stated.exp

    def _now_seconds(self) -> float:
        return self._clock.wall_ms() / 1000


def decoded_part(part: bytes) -> bytes:
    """Decodes a part of a token: base64url without padding (RFC 7515). Raises ValueError."""
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def _parts(token: bytes) -> tuple[_Header, _UnverifiedClaims] | None:
    header, payload, _ = token.split(b".")
    try:
        return (
            msgspec.json.decode(decoded_part(header), type=_Header),
            msgspec.json.decode(decoded_part(payload), type=_UnverifiedClaims),
        )
    except (ValueError, RecursionError):
        return None
