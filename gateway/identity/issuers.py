"""All issuers that are trusted somewhere: the keys of each are fetched once for all users (D188)."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from weakref import WeakValueDictionary

from backends.clock import Clock
from gateway.identity.issuer_keys import Fetch, IssuerKeys


class Issuers:
    """Keys by issuer and place. They are known as long as anybody holds them, and refreshed while in use."""

    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._known: WeakValueDictionary[tuple[str, str], IssuerKeys] = WeakValueDictionary()
        self._needed: dict[str, list[IssuerKeys]] = {}

    def keys_at(self, issuer: str, source: str) -> IssuerKeys:
        """The issuer's keys at a place: those that are known, so that a reload keeps what stays."""
        keys = self._known.get((issuer, source))
        if keys is None:
            keys = self._known[issuer, source] = IssuerKeys(issuer, source, self._fetch, self._clock)
        return keys

    def use(self, who: str, keys: Iterable[IssuerKeys]) -> None:
        """These are what `who` needs from now on."""
        self._needed[who] = list(keys)

    @property
    def in_use(self) -> set[IssuerKeys]:
        """All that somebody needs."""
        return {each for needed in self._needed.values() for each in needed}

    async def refresh(self) -> None:
        """Fetch what is due, from all issuers at once."""
        await asyncio.gather(*(each.refresh() for each in self.in_use))

    def ages_seconds(self) -> dict[str, float]:
        """By issuer, how old its keys are; of several places, the oldest."""
        ages: dict[str, float] = {}
        for each in self.in_use:
            ages[each.issuer] = max(each.age_seconds, ages.get(each.issuer, 0.0))
        return ages

    def fetches(self) -> dict[tuple[str, ...], float]:
        """How many there were, by issuer and outcome."""
        counted: Counter[tuple[str, ...]] = Counter()
        for each in self.in_use:
            for outcome, count in each.fetches.items():
                counted[each.issuer, outcome] += count
        return {labels: float(count) for labels, count in counted.items()}

    async def close(self) -> None:
        """End what is under way; a reload may have begun it."""
        for each in list(self._known.values()):
            await each.close()
