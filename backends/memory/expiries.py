"""Entries in the order of their expiries."""

from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

from sortedcontainers import SortedList

Entry = TypeVar("Entry")

_SPAN_BITS = 6
"""Entries share a span of 64 ms: puts of one moment with one TTL cost a set operation each."""

_MOST_PARTIAL = 10_000
"""More entries of a span that is not over wait for its end, so that no step looks at too many."""


class ExpiryIndex(Generic[Entry]):
    """Names of entries by the span of time in which they expire.

    Adding and removing cost the same however many entries exist, and no step reorganizes all of them.
    """

    def __init__(self) -> None:
        self._by_span: dict[int, set[Entry]] = {}
        self._spans: SortedList[int] = SortedList()
        self.first_end_ms = _NEVER_MS
        """The end of the first span with entries."""

    def add(self, entry: Entry, expires_at_ms: int) -> None:
        """Records when an entry expires."""
        span = expires_at_ms >> _SPAN_BITS
        entries = self._by_span.get(span)
        if entries is None:
            entries = self._by_span[span] = set()
            self._spans.add(span)
            self._note_first()
        entries.add(entry)

    def remove(self, entry: Entry, expires_at_ms: int) -> None:
        """Undoes `add` with the same arguments."""
        span = expires_at_ms >> _SPAN_BITS
        entries = self._by_span[span]
        entries.remove(entry)
        if not entries:
            del self._by_span[span]
            self._spans.remove(span)
            self._note_first()

    def due(self, now_ms: int) -> Iterator[Entry]:
        """Yields the entries whose span is over, oldest first; the caller removes each before the next."""
        while self.first_end_ms <= now_ms:
            yield next(iter(self._by_span[self._spans[0]]))

    def perhaps_due(self, now_ms: int) -> list[Entry]:
        """Returns the entries of the span that is not over; some of them have expired."""
        return list(islice(self._by_span.get(now_ms >> _SPAN_BITS, ()), _MOST_PARTIAL))

    def __len__(self) -> int:
        """Returns the number of spans in which entries expire."""
        return len(self._by_span)

    def _note_first(self) -> None:
        self.first_end_ms = (self._spans[0] + 1) << _SPAN_BITS if self._spans else _NEVER_MS


_NEVER_MS = 2**63
