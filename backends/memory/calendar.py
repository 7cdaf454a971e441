"""Which entries fall due when, so that expired ones are found without looking at the others (D86)."""

import heapq
from collections.abc import Iterator

from backends.interface import Keyspace

Place = tuple[Keyspace, str]

STALE_SECONDS_KEPT = 1000


class Calendar:
    """Places of entries by the second in which they expire.

    Adding and removing cost the same however many entries there are. Seconds
    that lost their last place stay in the queue until they outnumber the live ones.
    """

    def __init__(self) -> None:
        self._places: dict[int, set[Place]] = {}
        self._queue: list[int] = []

    def add(self, place: Place, expires_at_ms: int) -> None:
        """Note when the entry at `place` falls due."""
        second = expires_at_ms // 1000
        places = self._places.get(second)
        if places is None:
            places = self._places[second] = set()
            heapq.heappush(self._queue, second)
        places.add(place)

    def remove(self, place: Place, expires_at_ms: int) -> None:
        """Forget what was added with the same arguments."""
        second = expires_at_ms // 1000
        places = self._places[second]
        places.remove(place)
        if not places:
            del self._places[second]
            if len(self._queue) > 2 * len(self._places) + STALE_SECONDS_KEPT:
                self._queue = sorted(self._places)

    def __len__(self) -> int:
        """In how many seconds something falls due."""
        return len(self._places)

    def due(self, now_ms: int) -> Iterator[Place]:
        """The places whose second is over, oldest first; the caller removes each before the next."""
        while self._queue and (self._queue[0] + 1) * 1000 <= now_ms:
            places = self._places.get(self._queue[0])
            if places is None:
                heapq.heappop(self._queue)
            else:
                yield next(iter(places))
