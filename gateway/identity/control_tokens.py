"""The bearer tokens in the configuration, each with the identity of its bearer."""

from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest

from gateway.identity.permissions import Identity


class ControlTokens:
    """Pairs of a token and its bearer. Tokens are known by their SHA-256, which all have the same length."""

    def __init__(self, bearers: Sequence[tuple[str, Identity]]) -> None:
        self._bearers = [(sha256(token.encode()).digest(), identity) for token, identity in bearers]

    @property
    def names(self) -> list[str]:
        """Of all bearers."""
        return [identity.name for _, identity in self._bearers]

    def find(self, token: bytes) -> Identity | None:
        """The bearer. Takes as long for every token, as each is compared with all that are known (D171)."""
        sent = sha256(token).digest()
        found: Identity | None = None
        for known, identity in self._bearers:
            if compare_digest(sent, known):
                found = identity
        return found
