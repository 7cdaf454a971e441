"""From a token to the workload that it proves: a token in the configuration, or a JWT of a known issuer."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from backends.clock import Clock
from gateway.config.settings import WorkloadPlace, WorkloadSettings
from gateway.domain.errors import (
    ExpiredIdentity,
    InvalidIdentity,
    IssuerUnavailable,
    KeysUnavailable,
    NoSuchWorkload,
)
from gateway.domain.model import Environment
from gateway.identity.issuer_keys import IssuerKeys
from gateway.identity.issuers import Issuers
from gateway.identity.web_tokens import Claims, TrustedIssuer, WebTokens, decoded_part


class Workload(Struct, frozen=True):
    """Who has asked, and which role in which app environment it is given credentials for.

    `issuer` vouches for it, to `audience`; both are None where the configuration itself does.
    """

    role: str
    environment: Environment
    subject: str
    issuer: str | None = None
    audience: str | None = None


class Workloads:
    """All that the configuration names.

    Tokens are known by their SHA-256: how long a lookup takes tells nobody how near a guess was.
    """

    def __init__(self, every: Sequence[WorkloadSettings], issuers: Issuers, clock: Clock) -> None:
        self._clock = clock
        self._by_token = {
            sha256(each.token.encode()).digest(): _workload(each, f"workloads[{index}].tokens[{place}]")
            for index, workloads in enumerate(every)
            for place, each in enumerate(workloads.tokens)
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
        self._web_tokens = WebTokens(trusted, self._judge, clock)

    @property
    def keys(self) -> list[IssuerKeys]:
        """Of all issuers."""
        return self._web_tokens.keys

    async def find(self, token: bytes) -> Workload:
        """The workload that a token of either kind proves. Raises WorkloadRefusal."""
        workload = self._by_token.get(sha256(token).digest())
        return await self.find_by_jwt(token) if workload is None else workload

    async def find_by_jwt(self, token: bytes) -> Workload:
        """The workload that an issuer vouches for. Raises WorkloadRefusal."""
        try:
            judged = await self._web_tokens.verify(token)
        except KeysUnavailable:
            raise IssuerUnavailable from None
        if judged is None:
            raise ExpiredIdentity if self._has_ended(token) else InvalidIdentity
        if judged.workload is None:
            raise NoSuchWorkload
        return judged.workload

    def _judge(self, claims: Claims) -> "_Judged":
        return _Judged(self._by_subject.get((claims.issuer, claims.subject)))

    def _has_ended(self, token: bytes) -> bool:
        """Whether a token says so itself, which nobody has proved; it is refused in any case."""
        try:
            stated = msgspec.json.decode(decoded_part(token.split(b".")[1]), type=_Stated)
        except (ValueError, IndexError, RecursionError):
            return False
        return stated.exp <= self._clock.wall_ms() / 1000


class _Judged(Struct, frozen=True):
    """Whom a verified token names; None for a subject that stands for nothing."""

    workload: Workload | None


class _Stated(Struct, frozen=True):
    exp: float


def _workload(place: WorkloadPlace, subject: str, issuer: TrustedIssuer | None = None) -> Workload:
    environment = Environment(place.org, place.app, place.env)
    if issuer is None:
        return Workload(place.role, environment, subject)
    return Workload(place.role, environment, subject, issuer.name, issuer.audience)
