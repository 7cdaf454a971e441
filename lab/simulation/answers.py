"""An answer to one call of a simulated directory: its meaning, and the permitted age of its information."""

from dataclasses import dataclass

from lab.simulation.contact import Contact
from lab.simulation.ledger import Status
from lab.simulation.tenants import CACHE_SECONDS, STALE_SECONDS, Issued
from tests.support.wire import WireReply

RETRY_SECONDS = 1.0
"""Time for which a binding is used after a failed lookup, and for which a corrupt record is cached."""

LOOKUP_SECONDS = 2.0
"""The longest time for which a lookup may have run when a call joined it."""

GRANTED = {"rate_limited", "quota_unavailable", "storage_unavailable"}


@dataclass(frozen=True)
class Answered:
    """One call and its answer.

    When it was sent, the replica had to know all changes up to `known_until`, and its own up to `own_change`.
    """

    token: Issued
    contact: Contact
    own_change: float
    sent: float
    answered: float
    known_until: float
    reply: WireReply

    @property
    def status(self) -> Status | None:
        """The status of the token by the answer; None if the answer does not show it."""
        if self.reply.status == 200 or self.reply.error in GRANTED:
            return Status.ACTIVE
        codes = {
            "invalid_token": Status.VOID,
            "binding_inactive": Status.INACTIVE,
            "auth_unavailable": Status.UNREADABLE,
        }
        return codes.get(self.reply.error)

    def was_looked_up_in_vain(self, since: float) -> bool:
        """Whether a read of one of the token's two records failed."""
        names = (f"token/{self.token.sha256}", f"app/{self.token.environment}")
        return any(self.contact.has_failed_since(since, f"read {name}") for name in names)

    @property
    def earliest(self) -> float:
        """The oldest state that the answer may rely on: two seconds and the trouble, at most the cache time.

        More than that is for a replica that has just asked the store in vain, if its feed lost nothing.
        """
        memory, known_until = CACHE_SECONDS, self.known_until
        if self.was_looked_up_in_vain(self.sent - RETRY_SECONDS):
            memory += max(STALE_SECONDS)
            lost = self.contact.known_in_an_outage(self.sent - memory)
            known_until = min(known_until, max(lost, self.sent - CACHE_SECONDS))
        return max(known_until, self.own_change, self.sent - memory)
