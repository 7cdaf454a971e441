"""Refusals of the control plane itself: permissions, request fields, missing or failing parts."""

# The tables keep one refusal to a line:
# fmt: off

from gateway.directory.errors import ControlRefusal
from gateway.domain.errors import Unavailable


class NotAllowed(
    ControlRefusal, status=403, code="not_allowed",
    detail="this token lacks permission for this organization or app; run kvs-gateway whoami",
): ...
class SessionCredentialsDisabled(
    ControlRefusal, status=409, code="session_credentials_disabled",
    detail="session credentials are disabled: the operator can set signature.credentials.session",
): ...
class NoUsage(
    ControlRefusal, status=404, code="no_usage",
    detail="usage is not available: the operator can set console.prometheus",
): ...
class OldReplicasRunning(
    ControlRefusal, status=409, code="old_replicas",
    detail="replicas of version 0.2 use the store: end them, wait 5 seconds, and repeat the command",
): ...

class UsageUnavailable(ControlRefusal, status=503, code="usage_unavailable", retry_after_seconds=10):
    """Prometheus does not answer, or answers in an unknown format."""

class InvalidField(ControlRefusal, status=422):
    """A field is missing, of the wrong type or out of range; each has a code of its own."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


# ---- Failures of the directory's store: safe to repeat

class NotChanged(
    Unavailable, code="auth_unavailable",
    detail="the directory's store does not answer; nothing was changed",
): ...
class AppUnreadable(
    Unavailable, code="auth_unavailable",
    detail="the record of this app is unreadable: restore it, or remove the app",
): ...
