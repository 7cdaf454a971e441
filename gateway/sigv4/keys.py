"""Signing keys: four HMACs away from a secret, so derived once per secret, day and scope."""

import hmac
from functools import lru_cache

from gateway.errors import SignatureMismatch
from gateway.sigv4.verification import Claim


class SigningKeys:
    """Derived keys, the most recently used `size` of them.

    The secret is part of what a key is found by, so a replaced secret takes effect at once.
    """

    def __init__(self, size: int = 10_000) -> None:
        self._keyed = lru_cache(size)(_keyed)

    def prove(self, claim: Claim, secret: bytes) -> None:
        """Raise SignatureMismatch unless the claim was signed with `secret`; in constant time."""
        if not claim.declared_hash_holds:
            raise SignatureMismatch
        keyed = self._keyed(secret, claim.scope).copy()
        keyed.update(claim.string_to_sign)
        if not hmac.compare_digest(keyed.hexdigest().encode(), claim.signature):
            raise SignatureMismatch


def _keyed(secret: bytes, scope: bytes) -> hmac.HMAC:
    key = b"AWS4" + secret
    for part in scope.split(b"/"):
        key = hmac.digest(key, part, "sha256")
    keyed = hmac.new(key, digestmod="sha256")
    return getattr(keyed, "_hmac", None) or keyed  # OpenSSL's object, without the calls of its wrapper
