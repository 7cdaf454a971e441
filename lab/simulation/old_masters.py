"""Masters that were replaced and do not know it: some replicas still ask them, and what they write is lost.

A replica leaves an old master within two seconds after it hears of the new one (D138, D165); until then it is
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
    """`records`: what it holds; `askers`: the networks of the replicas that ask it, until it is left."""

    def __init__(self, records: StoreRecords, askers: Collection[Network], now: float) -> None:
        self.records = records
        self.ledger = Ledger(records)
        self._askers = set(askers)
        self._began, self._left = now, float("inf")
        for network in askers:
            network.records = records

    def leave(self, now: float) -> None:
        """All replicas know the new one."""
        self._left = now
        for network in self._askers:
            network.records = network.store.records

    def statuses(self, network: Network, call: Answered) -> set[Status]:
        """What it may have told of a token to a replica that relies on it."""
        since, until = max(call.earliest, self._began), min(call.answered, self._left)
        return self.ledger.statuses(call.token, since, until) if self._told(network, since, until) else set()

    def has_served(self, network: Network, since: float, until: float) -> bool:
        """Whether the replica asked it at some moment of that time."""
        return self._told(network, max(since, self._began), min(until, self._left))

    def _told(self, network: Network, since: float, until: float) -> bool:
        return network in self._askers and since <= until


class OldMasters(list[OldMaster]):
    """All that there were."""

    def statuses(self, network: Network, call: Answered) -> set[Status]:
        """What any of them may have told."""
        return set[Status]().union(*(old.statuses(network, call) for old in self))

    def have_served(self, network: Network, since: float, until: float) -> bool:
        """Whether one of them did."""
        return any(old.has_served(network, since, until) for old in self)

    def has_lost(self, cause: object) -> bool:
        """Whether something was swapped there on this behalf."""
        return any(swap.cause is cause for old in self for swap in old.records.swaps)

    def table_of(self, token: Issued) -> str | None:
        """The id of a table that a token had in one of their histories."""
        return next((found for old in self if (found := old.ledger.table_of(token))), None)

    def tables(self, environments: Collection[Environment]) -> Iterator[str]:
        """The ids of all tables that those apps ever had there."""
        for old in self:
            for environment in environments:
                for version in old.ledger.versions(environment):
                    yield from version.tables.values()
