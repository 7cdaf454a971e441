"""Audit events of the control plane and the credentials plane: collected while a request is handled."""

import logging

audit_log = logging.getLogger("kvs.audit")
audit_log.setLevel(logging.INFO)  # independent of `logging.level`: every change is recorded

REFUSAL_LINES_PER_SECOND = 20


class AuditContext:
    """Facts about one request for its audit event and its count, however it ends. No token and no secret.

    `action` and `outcome` start with the values that a request has if it fails early or is cancelled.
    """

    def __init__(self, action: str, outcome: str) -> None:
        self.action, self.outcome = action, outcome
        self.actor: dict[str, str | None] = {}
        self.details: dict[str, object] = {}

    def identify(self, name: str, issuer: str | None) -> None:
        """Records the actor: the name of a configured token, or a subject with its issuer."""
        self.actor = {"actor": name} if issuer is None else {"actor": name, "issuer": issuer}

    def note(self, **details: object) -> None:
        """Adds details of the request."""
        self.details.update(details)
