"""Since when a replica can ask the store, and so up to when it has to know what was changed there."""

from collections.abc import Callable

IN_FORCE_SECONDS = 2.0
"""After a change, every replica that can ask the store obeys it."""


class Contact:
    """Between one replica, from its start on, and the store. Troubles may overlap."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._troubles = 0
        self._since = self._known_until = now()
        self._gaps = [(self._since, self._since)]
        self._failed_at: dict[str, float] = {}

    def lose(self) -> None:
        """A trouble begins."""
        if self._troubles == 0:
            self._known_until = self.known_until
        self._troubles += 1

    def regain(self) -> None:
        """A trouble is over."""
        self._troubles -= 1
        if self._troubles == 0:
            self._since = self._now()

    def miss(self) -> None:
        """The feed was cut short, perhaps before it could tell everything. It begins so, too."""
        self._gaps.append((self._now(), self.known_until))

    def known_in_an_outage(self, since: float) -> float:
        """The same without what the feed has not told from `since` on, and could not be asked for since."""
        return min([self.known_until, *(known for at, known in self._gaps if at >= since)])

    def failed(self, operation: str) -> None:
        """A call of the store got no answer."""
        self._failed_at[operation] = self._now()

    def has_failed_since(self, moment: float, operation: str) -> bool:
        """Whether a call got no answer from then on."""
        return self._failed_at.get(operation, float("-inf")) >= moment

    @property
    def known_until(self) -> float:
        """All that was changed before this moment has to be known now: two seconds, plus the trouble."""
        until = self._now() - IN_FORCE_SECONDS
        return until if self._troubles == 0 and until >= self._since else self._known_until
