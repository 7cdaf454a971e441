"""Builds public keys and verifies signatures, by PyJWT and cryptography.

Importers import this module inside the function that needs it: loading the two libraries takes 10 MiB and
30 ms, and a replica that trusts no issuer never needs them (D173).
"""

from collections.abc import Mapping
from typing import Any, get_args

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from jwt.algorithms import AllowedPublicKeys, ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.types import Options

_FEWEST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_LONGEST_RSA_EXPONENT = 6
"""Characters of base64. The time of a verification grows with the exponent."""

_CHECKED: Options = {
    "require": ["iss", "aud", "sub", "exp"],
    "verify_exp": False,  # `WebTokens` checks times by the gateway's own clock
    "verify_nbf": False,
    "verify_iat": False,
}


def public_key(kty: str, numbers: Mapping[str, str]) -> AllowedPublicKeys | None:
    """Builds a key from the public parts of a JWK alone. Returns None if they form no valid key."""
    try:
        if kty == "RSA":
            return _rsa_key(numbers["n"], numbers["e"])
        parts = {name: numbers[name] for name in (("crv", "x", "y") if kty == "EC" else ("crv", "x"))}
        algorithm = ECAlgorithm if kty == "EC" else OKPAlgorithm
        made: Any = algorithm.from_jwk({"kty": kty, **parts})
    except (jwt.PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return made if isinstance(made, get_args(AllowedPublicKeys)) else None


def _rsa_key(n: str, e: str) -> AllowedPublicKeys | None:
    if len(e) > _LONGEST_RSA_EXPONENT or len(n) > _MOST_RSA_BITS // 6 + 2:
        return None
    made: Any = RSAAlgorithm.from_jwk({"kty": "RSA", "n": n, "e": e})
    return made if _FEWEST_RSA_BITS <= made.key_size <= _MOST_RSA_BITS else None


def verified_claims(
    token: bytes, key: AllowedPublicKeys, *, algorithm: str, audience: str, issuer: str
) -> dict[str, Any] | None:
    """Returns the claims of a token that the key signed for the audience, else None."""
    try:
        return jwt.decode(
            token, key, algorithms=[algorithm], audience=audience, issuer=issuer, options=_CHECKED
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        return None
