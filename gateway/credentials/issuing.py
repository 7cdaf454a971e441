"""What the control plane needs to issue session credentials."""

from msgspec import Struct

from gateway.credentials.roles import ApprovedRoles
from gateway.credentials.session import SessionCredentials


class Issuer(Struct, frozen=True):
    """Issues for `roles`, with at most `max_ttl_seconds`; `sessions` is None where they are switched off."""

    sessions: SessionCredentials | None
    roles: ApprovedRoles
    max_ttl_seconds: int
