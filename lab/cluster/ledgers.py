"""Counts by clients for the bill: requests that were answered, and requests that may have been."""

from collections import Counter
from dataclasses import dataclass, field

from lab.cluster.load import Load


@dataclass
class Ledger:
    """One table's."""

    answered: Counter[str] = field(default_factory=Counter)
    """With 200, by operation: each of these is a request on the bill."""
    refused: int = 0
    """With 503: on the bill if it was admitted."""
    unanswered: int = 0
    """The connection ended: the server may have counted it, or not."""

    def add(self, load: Load) -> None:
        self.answered += load.operations
        self.refused += load.statuses[503]
        self.unanswered += load.statuses[0]


class Ledgers:
    """Counts by app and table."""

    def __init__(self) -> None:
        self._ledgers: dict[tuple[str, str], Ledger] = {}

    def of(self, app: str, table: str) -> Ledger:
        return self._ledgers.setdefault((app, table), Ledger())
