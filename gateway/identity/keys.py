"""Public keys of an issuer (JWKS, RFC 7517), each for the one algorithm that its type allows.

The key decides the algorithm, never the token. So no token can turn an RSA public key into the secret of an
HMAC, or declare itself unsigned (D175).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from jwt.algorithms import AllowedPublicKeys

MOST_BYTES = 262_144
"""Largest JWKS of one issuer; Google's has 2 KiB."""

_MOST_KEYS = 100

KeySet = Mapping[tuple[str | None, str], "AllowedPublicKeys"]
"""Public keys by key id and algorithm."""


class UnusableKeys(Exception):
    """The document is not a JWKS."""


class _JsonWebKey(Struct, frozen=True):
    """Public parts of a key, and its declared use."""

    kty: str = ""
    kid: str | None = None
    use: str | None = None
    alg: str | None = None
    key_ops: list[str] | None = None
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""

    @property
    def numbers(self) -> dict[str, str]:
        """The members that form the key itself."""
        return {"crv": self.crv, "n": self.n, "e": self.e, "x": self.x, "y": self.y}

    @property
    def algorithm(self) -> str | None:
        """The one algorithm that the key may be used for, or None."""
        fits = {("RSA", ""): "RS256", ("EC", "P-256"): "ES256", ("OKP", "Ed25519"): "EdDSA"}
        algorithm = fits.get((self.kty, self.crv))
        is_for_signatures = self.use in (None, "sig") and (self.key_ops is None or "verify" in self.key_ops)
        return algorithm if is_for_signatures and self.alg in (None, algorithm) else None


class _JsonWebKeySet(Struct, frozen=True):
    keys: list[Any]


def parse_keys(text: str | bytes) -> KeySet:
    """Parses a JWKS; keys that cannot be used are skipped. Raises UnusableKeys."""
    from gateway.identity.jose import public_key  # noqa: PLC0415 - see there

    if len(text) > MOST_BYTES:
        raise UnusableKeys
    try:
        listed = msgspec.json.decode(text, type=_JsonWebKeySet).keys
    except (ValueError, RecursionError):
        raise UnusableKeys from None
    if len(listed) > _MOST_KEYS:
        raise UnusableKeys
    found: dict[tuple[str | None, str], AllowedPublicKeys] = {}
    for each in listed:
        try:
            key = msgspec.convert(each, _JsonWebKey)
        except msgspec.ValidationError:
            continue
        public = None if key.algorithm is None else public_key(key.kty, key.numbers)
        if key.algorithm is not None and public is not None:
            found.setdefault((key.kid, key.algorithm), public)
    return found
