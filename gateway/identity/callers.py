"""Resolves a bearer token to an identity: a control token by name, a JWT by the rules for its issuer."""

from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest

from msgspec import Struct

from gateway.identity.permissions import Identity, PermissionGrant
from gateway.identity.web_tokens import Claims, WebTokens


class ControlTokens:
    """The control tokens of the configuration, each with its identity.

    Only SHA-256 digests are kept, which also hides the length of a token.
    """

    def __init__(self, bearers: Sequence[tuple[str, Identity]]) -> None:
        self._bearers = [(sha256(token.encode()).digest(), identity) for token, identity in bearers]

    @property
    def names(self) -> list[str]:
        """Names of all tokens."""
        return [identity.name for _, identity in self._bearers]

    def find(self, token: bytes) -> Identity | None:
        """Returns the identity of a token, in a time that does not depend on the token (D172)."""
        sent = sha256(token).digest()
        found: Identity | None = None
        for known, identity in self._bearers:
            # No early return: the position of a match must not show in the response time.
            if compare_digest(sent, known):
                found = identity
        return found


class Rule(Struct, frozen=True):
    """Grants permissions to every subject whose claim equals a value, or is a list that contains it."""

    claim: str
    value: str
    grant: PermissionGrant

    def applies(self, claims: Claims) -> bool:
        """Returns whether the claim has the value."""
        stated = claims.all.get(self.claim)
        return self.value in stated if isinstance(stated, list) else stated == self.value


def identify_by(rules: Sequence[Rule], claims: Claims) -> Identity:
    """Returns the identity in a verified JWT with the union of all matching grants (possibly none)."""
    grants = tuple(rule.grant for rule in rules if rule.applies(claims))
    return Identity(claims.subject, grants, claims.issuer)


class Callers(Struct, frozen=True):
    """All identities that may call the control plane."""

    control_tokens: ControlTokens
    web_tokens: WebTokens[Identity]

    async def identify(self, token: bytes) -> Identity | None:
        """Returns the identity of a bearer token, or None if it is unknown. Raises KeysUnavailable."""
        return self.control_tokens.find(token) or await self.web_tokens.verify(token)
