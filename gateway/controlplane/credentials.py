"""Session credentials over HTTP, in the form of AWS' `credential_process`. Path and fields are contract."""

from gateway.controlplane.errors import InvalidField, SessionCredentialsDisabled
from gateway.controlplane.fields import Fields, checked, checked_name
from gateway.controlplane.routing import (
    Action,
    CallResult,
    ControlCall,
    Routes,
    Target,
)
from gateway.credentials.session import Issuer
from gateway.domain.answers import iso_instant
from gateway.domain.model import Environment
from gateway.domain.rules import DEFAULT_SESSION_SECONDS, Role, SessionSeconds


class CredentialRoutes:
    """Issues session credentials for approved roles."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer

    def replace_issuer(self, issuer: Issuer) -> None:
        """Issues with `issuer` from the next call on."""
        self._issuer = issuer

    @property
    def routes(self) -> Routes:
        """Paths and methods."""
        return [
            (r"/v1/credentials", {"POST": Action("credentials.issue", "credentials", self.issue, _bound_to)})
        ]

    async def issue(self, call: ControlCall) -> CallResult:
        issuer = self._issuer
        if issuer.sessions is None:
            raise SessionCredentialsDisabled
        ttl_seconds = checked(
            call.fields.get("ttl_seconds"), SessionSeconds | None, "invalid_ttl", field="ttl_seconds"
        )
        if ttl_seconds is None:
            ttl_seconds = min(DEFAULT_SESSION_SECONDS, issuer.max_ttl_seconds)
        elif ttl_seconds > issuer.max_ttl_seconds:
            raise InvalidField("invalid_ttl", f"ttl_seconds: {ttl_seconds}, at most {issuer.max_ttl_seconds}")
        environment = _bound_environment(call.fields)
        role = checked(call.fields.get("role"), Role, "role_not_approved", field="role")
        bound_to = None if environment is None else str(environment)
        call.note(environment=bound_to, role=role, ttl_seconds=ttl_seconds)
        if not issuer.roles.approves(role):
            raise InvalidField("role_not_approved", f"role: {role}, not among signature.approved_roles")
        issued = issuer.sessions.issue(role, ttl_seconds, environment)
        body = {
            "Version": 1,
            "AccessKeyId": issued.access_key_id,
            "SecretAccessKey": issued.secret_access_key,
            "SessionToken": issued.session_token,
            "Expiration": iso_instant(issued.expires_at_seconds * 1000),
        }
        call.note(access_key_id=issued.access_key_id)
        return CallResult(200, body)


def _bound_to(_parts: tuple[str, ...], sent: Fields) -> Target:
    """Returns the app that the credentials are for, with empty names if they are for all apps (D172)."""
    org, app = sent.get("org"), sent.get("app")
    return (org if isinstance(org, str) else "", app if isinstance(app, str) else "")


def _bound_environment(sent: Fields) -> Environment | None:
    parts = {part: sent.get(part) for part in ("org", "app", "env")}
    if all(part is None for part in parts.values()):
        return None
    return Environment(*(checked_name(part, field=field) for field, part in parts.items()))
