"""An answer to one call of a simulated directory: what it says, and how old what it relies on may be."""

from dataclasses import dataclass

from lab.simulation.contact import Contact
from lab.simulation.ledger import Status
from lab.simulation.tenants import CACHE_SECONDS, STALE_SECONDS, Issued
from tests.support.wire import WireReply

RETRY_SECONDS = 1.0
"""For so long a binding is used without asking again once asking has failed, and a corrupt record counts."""

LOOKUP_SECONDS = 2.0
"""The longest that a lookup may have been under way when a call joined it."""

GRANTED = {"rate_limited", "quota_unavailable", "storage_unavailable"}


@dataclass(frozen=True)
class Answered:
    """One call, and the answer. Up to `known_until` the replica had to know the store when the call was sent,

    up to `own_change` in any case: then the app was changed there.
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
        """What the answer says of the token; None: nothing."""
        if self.reply.status == 200 or self.reply.error in GRANTED:
            return Status.ACTIVE
        codes = {
            "invalid_token": Status.VOID,
            "binding_inactive": Status.INACTIVE,
            "auth_unavailable": Status.UNREADABLE,
        }
        return codes.get(self.reply.error)

    def was_looked_up_in_vain(self, since: float) -> bool:
        """Whether one of the token's two records could not be read."""
        names = (f"token/{self.token.sha256}", f"app/{self.token.environment}")
        return any(self.contact.has_failed_since(since, f"read {name}") for name in names)

    @property
    def earliest(self) -> float:
        """How old what it relies on may be: two seconds and the trouble, and never more than the cache time.

        More than that is for a replica that has just asked the store in vain, if its feed lost nothing.
        """
        memory, known_until = CACHE_SECONDS, self.known_until
        if self.was_looked_up_in_vain(self.sent - RETRY_SECONDS):
            memory += max(STALE_SECONDS)
            lost = self.contact.known_in_an_outage(self.sent - memory)
            known_until = min(known_until, max(lost, self.sent - CACHE_SECONDS))
        return max(known_until, self.own_change, self.sent - memory)
