"""The public keys of an issuer (JWKS, RFC 7517), each for the one algorithm that its kind allows.

An algorithm is a property of the key and never of the token: so no token can have an RSA key taken for the
secret of an HMAC, or be signed by nobody (D175).
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from jwt.algorithms import AllowedPublicKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError
from msgspec import Struct

MOST_BYTES = 262_144
"""Of the keys of one issuer; Google's are 2 KiB."""

_MOST_KEYS = 100
_FEWEST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_LONGEST_RSA_EXPONENT = 6
"""In characters of base64: the time that a verification takes grows with it."""

KeySet = Mapping[tuple[str | None, str], AllowedPublicKeys]
"""By id and algorithm."""


class UnusableKeys(Exception):
    """What should be a JWKS is none."""


class _JsonWebKey(Struct, frozen=True):
    """The public parts of a key, and what it is for."""

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
    def algorithm(self) -> str | None:
        """The one algorithm that it may be used for; None if there is none."""
        fits = {("RSA", ""): "RS256", ("EC", "P-256"): "ES256", ("OKP", "Ed25519"): "EdDSA"}
        algorithm = fits.get((self.kty, self.crv))
        is_for_signatures = self.use in (None, "sig") and (self.key_ops is None or "verify" in self.key_ops)
        return algorithm if is_for_signatures and self.alg in (None, algorithm) else None


class _JsonWebKeySet(Struct, frozen=True):
    keys: list[Any]


def parse_keys(text: str | bytes) -> KeySet:
    """The keys in a JWKS that can be used; others are passed over. Raises UnusableKeys."""
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
        public = None if key.algorithm is None else _public_key(key)
        if key.algorithm is not None and public is not None:
            found.setdefault((key.kid, key.algorithm), public)
    return found


def _public_key(key: _JsonWebKey) -> AllowedPublicKeys | None:
    """Made of the public parts alone, whatever else is there."""
    try:
        if key.kty == "RSA":
            return _rsa_key(key)
        if key.kty == "EC":
            made: Any = ECAlgorithm.from_jwk({"kty": "EC", "crv": key.crv, "x": key.x, "y": key.y})
        else:
            made = OKPAlgorithm.from_jwk({"kty": "OKP", "crv": key.crv, "x": key.x})
    except (PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return made if isinstance(made, get_args(AllowedPublicKeys)) else None


def _rsa_key(key: _JsonWebKey) -> AllowedPublicKeys | None:
    if len(key.e) > _LONGEST_RSA_EXPONENT or len(key.n) > _MOST_RSA_BITS // 6 + 2:
        return None
    made: Any = RSAAlgorithm.from_jwk({"kty": "RSA", "n": key.n, "e": key.e})
    return made if _FEWEST_RSA_BITS <= made.key_size <= _MOST_RSA_BITS else None
