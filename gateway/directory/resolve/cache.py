"""The cache of bindings: bounded, found by token digest and by app environment."""

from collections.abc import Iterator

from cachetools import FIFOCache
from msgspec import Struct

from gateway.domain.model import Binding, Environment


class CachedBinding(Struct, gc=False):
    """A binding as the store's record of `version` gave it; `resolve.freshness` judges it."""

    binding: Binding
    version: str
    epoch: int
    vouched_for_ms: int
    """When the store vouched for it: at its lookup, or by the feed, before it expired."""
    fresh_until_ms: int
    is_vouched_for: bool = True
    """Whether the feed, as long as it speaks, vouches for it."""
    may_be_stale: bool = True
    """Whether the feed has told every change since the lookup, so that an outage may be bridged for long."""
    edition: object = None
    """Of the declared apps, in which its app was looked for last, and was not."""


class BindingCache(FIFOCache[bytes, CachedBinding]):
    """Bindings by token digest; the oldest one makes room.

    A change names an app, not its tokens, so an index holds the digests of each environment. What the request
    path needs is found by `find` in a plain dictionary: one step, where the cache's own lookup takes three.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._digests: dict[Environment, set[bytes]] = {}
        self._bindings: dict[bytes, CachedBinding] = {}
        self.find = self._bindings.get

    def of(self, environment: Environment) -> Iterator[CachedBinding]:
        """Every binding of an app environment."""
        for digest in self._digests.get(environment, ()):
            yield self[digest]

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
