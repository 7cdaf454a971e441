"""Contact of a replica with the store, and the time up to which it must know the changes there."""

from collections.abc import Callable

IN_FORCE_SECONDS = 2.0
"""Time until every replica with contact to the store obeys a change."""


class Contact:
    """Contact between one replica, from its start on, and the store. Troubles may overlap."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._troubles = 0
        self._since = self._known_until = now()
        self._gaps = [(self._since, self._since)]
        self._failed_at: dict[str, float] = {}

    def lose(self) -> None:
        """Begins a trouble."""
        if self._troubles == 0:
            self._known_until = self.known_until
        self._troubles += 1

    def regain(self) -> None:
        """Ends a trouble."""
        self._troubles -= 1
        if self._troubles == 0:
            self._since = self._now()

    def miss(self) -> None:
        """Notes that the feed was cut, perhaps before all announcements were read. A start is a cut."""
        self._gaps.append((self._now(), self.known_until))

    def known_in_an_outage(self, since: float) -> float:
        """Returns the known time without changes that the feed lost since `since`, in an outage."""
        return min([self.known_until, *(known for at, known in self._gaps if at >= since)])

    def failed(self, operation: str) -> None:
        """Notes a call of the store without an answer."""
        self._failed_at[operation] = self._now()

    def has_failed_since(self, moment: float, operation: str) -> bool:
        """Whether a call since then got no answer."""
        return self._failed_at.get(operation, float("-inf")) >= moment

    @property
    def known_until(self) -> float:
        """The replica must know all changes before this moment: two seconds ago, minus the trouble."""
        until = self._now() - IN_FORCE_SECONDS
        return until if self._troubles == 0 and until >= self._since else self._known_until
