"""The cache of bindings: bounded, found by token digest and dropped by app environment."""

from cachetools import LRUCache
from msgspec import Struct

from gateway.domain.model import Binding, Environment


class CachedBinding(Struct):
    """A binding as the store's record of `version` gave it. Times are monotonic.

    It is used until `fresh_until_ms` and looked up again before it is used after that; while the
    store is down it is used until `stale_until_ms`.
    """

    binding: Binding
    version: str
    fresh_until_ms: int
    stale_until_ms: int


class BindingCache(LRUCache[bytes, CachedBinding]):
    """Bindings by token digest; the least recently used one makes room.

    A change names an app, not its tokens, so an index holds the digests of each environment.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._digests: dict[Environment, set[bytes]] = {}

    def invalidate(self, environment: Environment) -> None:
        """Use no binding of an app environment any more, whatever the store says or does not say.

        They stay, so that their tokens are still known to be none of those that are invented (D155).
        """
        for digest in self._digests.get(environment, ()):
            self[digest].fresh_until_ms = self[digest].stale_until_ms = 0

    def expire(self, environment: Environment) -> None:
        """Let every binding of an app environment be looked up before it is used again."""
        for digest in self._digests.get(environment, ()):
            self[digest].fresh_until_ms = 0

    def __setitem__(self, digest: bytes, cached: CachedBinding) -> None:
        super().__setitem__(digest, cached)
        self._digests.setdefault(cached.binding.environment, set()).add(digest)

    def __delitem__(self, digest: bytes) -> None:
        environment = self[digest].binding.environment
        super().__delitem__(digest)
        digests = self._digests[environment]
        digests.discard(digest)
        if not digests:
            del self._digests[environment]
