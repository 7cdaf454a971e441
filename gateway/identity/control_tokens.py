"""Bearer tokens of the configuration, each with the identity of its bearer."""

from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest

from gateway.identity.permissions import Identity


class ControlTokens:
    """Pairs of token and identity. Only SHA-256 digests are kept, which also hides a token's length."""

    def __init__(self, bearers: Sequence[tuple[str, Identity]]) -> None:
        self._bearers = [(sha256(token.encode()).digest(), identity) for token, identity in bearers]

    @property
    def names(self) -> list[str]:
        """Names of all bearers."""
        return [identity.name for _, identity in self._bearers]

    def find(self, token: bytes) -> Identity | None:
        """Returns the bearer of a token. The time does not depend on the token (D172)."""
        sent = sha256(token).digest()
        found: Identity | None = None
        for known, identity in self._bearers:
            # No early return: the position of a match must not show in the response time.
            if compare_digest(sent, known):
                found = identity
        return found
