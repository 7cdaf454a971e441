"""Replaced masters that some replicas still use: writes to them are lost.

A replica leaves an old master within two seconds after it hears of the new one (D137, D111); until then it is
as good as cut off. What it read and wrote there belongs to a history of its own, which is over then.
"""

from collections.abc import Collection, Iterator

from gateway.domain.model import Environment
from lab.simulation.answers import Answered
from lab.simulation.ledger import Ledger, Status
from lab.simulation.network import Network
from lab.simulation.records import StoreRecords
from lab.simulation.tenants import Issued


class OldMaster:
    """A replaced master: its `records`, and the networks of the replicas that use it until `leave`."""

    def __init__(self, records: StoreRecords, askers: Collection[Network], now: float) -> None:
        self.records = records
        self.ledger = Ledger(records)
        self._askers = set(askers)
        self._began, self._left = now, float("inf")
        for network in askers:
            network.records = records

    def leave(self, now: float) -> None:
        """Moves all replicas to the new master."""
        self._left = now
        for network in self._askers:
            network.records = network.store.records

    def statuses(self, network: Network, call: Answered) -> set[Status]:
        """Returns the statuses of a token that it may have given to a replica."""
        since, until = max(call.earliest, self._began), min(call.answered, self._left)
        return (
            self.ledger.statuses(call.token, since, until)
            if self._may_have_answered(network, since, until)
            else set()
        )

    def has_served(self, network: Network, since: float, until: float) -> bool:
        """Whether the replica used it at some moment of that time."""
        return self._may_have_answered(network, max(since, self._began), min(until, self._left))

    def _may_have_answered(self, network: Network, since: float, until: float) -> bool:
        return network in self._askers and since <= until


class OldMasters(list[OldMaster]):
    """All replaced masters."""

    def statuses(self, network: Network, call: Answered) -> set[Status]:
        """Returns the statuses of a token that any of them may have given."""
        return set[Status]().union(*(old.statuses(network, call) for old in self))

    def have_served(self, network: Network, since: float, until: float) -> bool:
        """Whether the replica used one of them at some moment of that time."""
        return any(old.has_served(network, since, until) for old in self)

    def has_lost(self, cause: object) -> bool:
        """Whether a swap for this cause was applied to one of them."""
        return any(swap.cause is cause for old in self for swap in old.records.swaps)

    def table_of(self, token: Issued) -> str | None:
        """Returns the id of a token's table in one of their histories."""
        return next((found for old in self if (found := old.ledger.table_of(token))), None)

    def tables(self, environments: Collection[Environment]) -> Iterator[str]:
        """Yields the ids of all tables that those apps ever had there."""
        for old in self:
            for environment in environments:
                for version in old.ledger.versions(environment):
                    yield from version.tables.values()
