"""Who calls: the bearer of a control token, or whom an issuer vouches for; rules say what that one may."""

from collections.abc import Sequence

from msgspec import Struct

from gateway.identity.control_tokens import ControlTokens
from gateway.identity.permissions import Grant, Identity
from gateway.identity.web_tokens import Claims, WebTokens


class Rule(Struct, frozen=True):
    """Grants something to those of whom a claim has a value, alone or in a list."""

    claim: str
    value: str
    grant: Grant

    def applies(self, claims: Claims) -> bool:
        """Whether the claim has the value."""
        stated = claims.all.get(self.claim)
        return self.value in stated if isinstance(stated, list) else stated == self.value


def identify_by(rules: Sequence[Rule], claims: Claims) -> Identity:
    """Whom an issuer vouches for, with all that the rules grant: it may be nothing."""
    grants = tuple(rule.grant for rule in rules if rule.applies(claims))
    return Identity(claims.subject, grants, claims.issuer)


class Callers(Struct, frozen=True):
    """All who may call."""

    control_tokens: ControlTokens
    web_tokens: WebTokens[Identity]

    async def identify(self, token: bytes) -> Identity | None:
        """Who sent a bearer token; None if it is nobody's. Raises KeysUnavailable."""
        return self.control_tokens.find(token) or await self.web_tokens.verify(token)
