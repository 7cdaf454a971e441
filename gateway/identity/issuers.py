"""All trusted issuers. The keys of each are fetched once for all listeners that use them (D174)."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from weakref import WeakValueDictionary

from backends.clock import Clock
from gateway.identity.issuer_keys import Fetch, IssuerKeys


class Issuers:
    """Issuer keys by issuer and source: shared while anyone holds them, refreshed while in use.

    The references are weak, so a reload keeps the keys that stay in use and drops the others.
    """

    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._known: WeakValueDictionary[tuple[str, str], IssuerKeys] = WeakValueDictionary()
        self._needed: dict[str, list[IssuerKeys]] = {}

    def keys_at(self, issuer: str, source: str) -> IssuerKeys:
        """Returns the issuer's keys at a source, shared with everyone who already holds them."""
        keys = self._known.get((issuer, source))
        if keys is None:
            keys = self._known[issuer, source] = IssuerKeys(issuer, source, self._fetch, self._clock)
        return keys

    def use(self, user: str, keys: Iterable[IssuerKeys]) -> None:
        """Replaces the set of keys that `user` needs."""
        self._needed[user] = list(keys)

    @property
    def in_use(self) -> set[IssuerKeys]:
        """Keys that at least one user needs."""
        return {each for needed in self._needed.values() for each in needed}

    async def refresh(self) -> None:
        """Fetches all keys that are due, concurrently."""
        await asyncio.gather(*(each.refresh() for each in self.in_use))

    def ages_seconds(self) -> dict[str, float]:
        """Ages of the keys by issuer; the oldest if an issuer has several sources."""
        ages: dict[str, float] = {}
        for each in self.in_use:
            ages[each.issuer] = max(each.age_seconds, ages.get(each.issuer, 0.0))
        return ages

    def fetches(self) -> dict[tuple[str, ...], float]:
        """Counts of fetches by issuer and outcome."""
        counted: Counter[tuple[str, ...]] = Counter()
        for each in self.in_use:
            for outcome, count in each.fetches.items():
                counted[each.issuer, outcome] += count
        return {labels: float(count) for labels, count in counted.items()}

    async def close(self) -> None:
        """Cancels all running fetches, including those that a reload started."""
        for each in list(self._known.values()):
            await each.close()
