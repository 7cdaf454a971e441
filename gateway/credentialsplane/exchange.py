"""Trades a workload's identity for session credentials, bound to the app environment of the workload."""

from gateway.credentials.session import IssuedSession, Issuer
from gateway.credentialsplane.errors import InvalidParameter, NoSuchWorkload
from gateway.credentialsplane.workloads import Workload, Workloads
from gateway.domain.rules import DEFAULT_SESSION_SECONDS

_SHORTEST_SECONDS = 900


class Exchange:
    """Issues credentials for both forms. A reload replaces both parts together."""

    def __init__(self, workloads: Workloads, issuer: Issuer) -> None:
        self.workloads, self._issuer = workloads, issuer

    def replace(self, workloads: Workloads, issuer: Issuer) -> None:
        """Uses other workloads and another issuer from the next exchange on."""
        self.workloads, self._issuer = workloads, issuer

    def lifetime_seconds(self, asked: int | None) -> int:
        """Returns the requested lifetime, by default an hour or the maximum. Raises InvalidParameter.

        The minimum is that of STS, 15 minutes, or the configured maximum if that is shorter.
        """
        longest = self._issuer.max_ttl_seconds
        if asked is None:
            return min(DEFAULT_SESSION_SECONDS, longest)
        shortest = min(_SHORTEST_SECONDS, longest)
        if not shortest <= asked <= longest:
            raise InvalidParameter("durationSeconds", f"Member must be from {shortest} to {longest}")
        return asked

    def issue(self, workload: Workload, ttl_seconds: int) -> IssuedSession:
        """Issues new credentials. Raises NoSuchWorkload if the role is no longer approved."""
        sessions = self._issuer.sessions
        if sessions is None or not self._issuer.roles.approves(workload.role):
            raise NoSuchWorkload
        return sessions.issue(workload.role, ttl_seconds, workload.environment)
