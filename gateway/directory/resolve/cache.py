"""The cache of bindings, by token digest and by app environment, and the negative cache. All are bounded."""

from collections.abc import Iterator

from cachetools import FIFOCache, LRUCache
from msgspec import Struct

from gateway.domain.model import Binding, Environment

MAX_BINDINGS = 100_000
MAX_UNKNOWN_TOKENS = 10_000


class CachedBinding(Struct, gc=False):
    """A binding from one version of its app's record; `resolve.freshness` decides whether it may be used."""

    binding: Binding
    version: str
    epoch: int
    confirmed_ms: int
    """The last time as of which the store confirmed it: by its lookup, or by the feed before it expired."""
    fresh_until_ms: int
    covered_by_feed: bool = True
    """True if an answer of the feed confirms it by not naming its app."""
    may_be_stale: bool = True
    """True if the feed has announced every change since the lookup: it may then bridge a long outage."""
    edition: object = None
    """The edition of the declared apps in which its app was last searched for, and not found."""


class CacheCounts(Struct):
    """Resolutions of managed tokens since the start, by how they were answered."""

    hits: int = 0
    misses: int = 0
    stale: int = 0
    withheld: int = 0


class BindingCache(FIFOCache[bytes, CachedBinding]):
    """Bindings by token digest; the oldest one is evicted.

    A change names an app, not its tokens, so an index holds the digests of each environment. Requests use
    `find`, the `get` of a plain dictionary: one step instead of the three of the cache's own lookup.
    """

    def __init__(self) -> None:
        super().__init__(MAX_BINDINGS)
        self._digests: dict[Environment, set[bytes]] = {}
        self._bindings: dict[bytes, CachedBinding] = {}
        self._unknown_until_ms: LRUCache[bytes, int] = LRUCache(MAX_UNKNOWN_TOKENS)
        self._corrupt_until_ms: LRUCache[bytes, int] = LRUCache(MAX_UNKNOWN_TOKENS)
        self.find = self._bindings.get
        self.counts = CacheCounts()

    def of(self, environment: Environment) -> Iterator[CachedBinding]:
        """Yields every binding of an app environment."""
        for digest in self._digests.get(environment, ()):
            yield self[digest]

    def put_unknown(self, digest: bytes, until_ms: int) -> None:
        """Caches that no app has this token."""
        self.pop(digest, None)
        self._unknown_until_ms[digest] = until_ms

    def put_corrupt(self, digest: bytes, until_ms: int) -> None:
        """Caches that a record of this token cannot be read."""
        self.pop(digest, None)
        self._corrupt_until_ms[digest] = until_ms

    def is_unknown(self, digest: bytes, now_ms: int) -> bool:
        """Returns whether a recent lookup found no app with this token."""
        return self._unknown_until_ms.get(digest, 0) > now_ms

    def is_corrupt(self, digest: bytes, now_ms: int) -> bool:
        """Returns whether a recent lookup met a corrupt record."""
        return self._corrupt_until_ms.get(digest, 0) > now_ms

    def drop_unknown(self, digest: bytes | None = None) -> None:
        """Removes one token from the negative cache, or all of them."""
        if digest is None:
            self._unknown_until_ms.clear()
        else:
            self._unknown_until_ms.pop(digest, None)

    def __setitem__(self, digest: bytes, cached: CachedBinding) -> None:
        super().__setitem__(digest, cached)
        self._bindings[digest] = cached
        self._digests.setdefault(cached.binding.environment, set()).add(digest)

    def __delitem__(self, digest: bytes) -> None:
        environment = self[digest].binding.environment
        super().__delitem__(digest)
        del self._bindings[digest]
        digests = self._digests[environment]
        digests.discard(digest)
        if not digests:
            del self._digests[environment]
