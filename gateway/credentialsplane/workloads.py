"""Resolves a token (configured, or a JWT of a known issuer) to a workload, and issues its credentials."""

from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from backends.clock import Clock
from gateway.config.settings import WorkloadRole, WorkloadSettings
from gateway.credentials.session import IssuedSession, Issuer
from gateway.credentialsplane.errors import (
    ExpiredIdentity,
    InvalidIdentity,
    InvalidParameter,
    IssuerUnavailable,
    NoSuchWorkload,
)
from gateway.domain.model import Environment
from gateway.domain.rules import DEFAULT_SESSION_SECONDS
from gateway.identity.issuer_keys import IssuerKeys, KeysUnavailable
from gateway.identity.issuers import Issuers
from gateway.identity.web_tokens import Claims, TrustedIssuer, WebTokens, decoded_part

_SHORTEST_SECONDS = 900


class Workload(Struct, frozen=True):
    """An authenticated workload, with the role and the app environment that its credentials are bound to.

    `issuer` and `audience` are those of its JWT; both are None for a token of the configuration.
    """

    role: str
    environment: Environment
    subject: str
    issuer: str | None = None
    audience: str | None = None


class Workloads:
    """All workloads of the configuration.

    Tokens are looked up by their SHA-256, so the time of a lookup reveals nothing about a near guess.
    """

    def __init__(self, every: Sequence[WorkloadSettings], issuers: Issuers, clock: Clock) -> None:
        self._clock = clock
        self._by_token = {
            sha256(each.token.encode()).digest(): _workload(each, f"workloads[{index}].tokens[{number}]")
            for index, workloads in enumerate(every)
            for number, each in enumerate(workloads.tokens)
        }
        trusted = {
            each.issuer: TrustedIssuer(each.issuer, each.audience, issuers.keys_at(each.issuer, each.jwks))
            for each in every
            if each.issuer is not None and each.audience is not None and each.jwks is not None
        }
        self._by_subject = {
            (issuer.name, each.subject): _workload(each, each.subject, issuer)
            for workloads in every
            if (issuer := trusted.get(workloads.issuer or ""))
            for each in workloads.subjects
        }
        self._web_tokens = WebTokens(trusted, self._known_subject, clock)

    @property
    def keys(self) -> list[IssuerKeys]:
        """Keys of all issuers."""
        return self._web_tokens.keys

    async def find(self, token: bytes, before_signature: Callable[[], None]) -> Workload:
        """Returns the workload of a configured token or a JWT. Raises WorkloadRefusal."""
        workload = self._by_token.get(sha256(token).digest())
        return await self.find_by_jwt(token, before_signature) if workload is None else workload

    async def find_by_jwt(self, token: bytes, before_signature: Callable[[], None]) -> Workload:
        """Returns the workload of a JWT. Raises WorkloadRefusal."""
        try:
            subject = await self._web_tokens.verify(token, before_signature)
        except KeysUnavailable as refusal:
            raise IssuerUnavailable(refusal.retry_after_seconds or 1) from None
        if subject is None:
            raise ExpiredIdentity if self._has_expired(token) else InvalidIdentity
        if subject.workload is None:
            raise NoSuchWorkload
        return subject.workload

    def _known_subject(self, claims: Claims) -> "_VerifiedSubject":
        return _VerifiedSubject(self._by_subject.get((claims.issuer, claims.subject)))

    def _has_expired(self, token: bytes) -> bool:
        """Reads `exp` of an unverified token. It only picks the refusal: the token is refused either way."""
        try:
            stated = msgspec.json.decode(decoded_part(token.split(b".")[1]), type=_Expiry)
        except (ValueError, IndexError, RecursionError):
            return False
        return stated.exp <= self._clock.wall_ms() / 1000


class Exchange:
    """Exchanges a workload's identity for session credentials. A reload replaces both parts together."""

    def __init__(self, workloads: Workloads, issuer: Issuer) -> None:
        self.workloads, self._issuer = workloads, issuer

    def replace(self, workloads: Workloads, issuer: Issuer) -> None:
        """Uses other workloads and another issuer from the next exchange on."""
        self.workloads, self._issuer = workloads, issuer

    def lifetime_seconds(self, requested: int | None) -> int:
        """Returns the requested lifetime; the default is an hour, or the maximum if that is shorter.

        The minimum is that of STS, 15 minutes, or the maximum if that is shorter. Raises InvalidParameter.
        """
        longest = self._issuer.max_ttl_seconds
        if requested is None:
            return min(DEFAULT_SESSION_SECONDS, longest)
        shortest = min(_SHORTEST_SECONDS, longest)
        if not shortest <= requested <= longest:
            raise InvalidParameter("durationSeconds", f"Member must be from {shortest} to {longest}")
        return requested

    def issue(self, workload: Workload, ttl_seconds: int) -> IssuedSession:
        """Issues credentials for the workload's app environment.

        Raises NoSuchWorkload if its role is no longer approved.
        """
        sessions = self._issuer.sessions
        if sessions is None or not self._issuer.roles.approves(workload.role):
            raise NoSuchWorkload
        return sessions.issue(workload.role, ttl_seconds, workload.environment)


class _VerifiedSubject(Struct, frozen=True):
    """The subject of a valid token; `workload` is None if the configuration does not name the subject."""

    workload: Workload | None


class _Expiry(Struct, frozen=True):
    exp: float


def _workload(configured: WorkloadRole, subject: str, issuer: TrustedIssuer | None = None) -> Workload:
    environment = Environment(configured.org, configured.app, configured.env)
    if issuer is None:
        return Workload(configured.role, environment, subject)
    return Workload(configured.role, environment, subject, issuer.name, issuer.audience)
