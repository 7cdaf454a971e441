"""Admission to a listener: who may stay connected. The group that uses most is evicted first (D150).

A connection can lose its place while it waits for its client: it is new and has sent no whole head, it has
sent a head and its body is on its way, its response waits to be read, or it is kept between two requests. A
connection that arrives when all places are taken gets that of the one which has waited for longest, in the
largest of these four groups: a flood of silent connections drives out its own, and so do bodies that do not
come, clients that do not read, and connections kept without a use. One whose request is being served never
loses its place.

Nothing is searched: each group is a dict in the order in which its connections began to wait.
"""

from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Generic, Protocol, TypeVar

FEWEST_REFUSED = 64
_NETWORK_BYTES = 8


class Connected(Protocol):
    """A connection, as far as its place goes."""

    peer: str

    def evict(self) -> None:
        """Close at once: the place is another's."""
        ...


Member = TypeVar("Member", bound=Connected)


class ConnectionLimiter(Generic[Member]):
    """At most `most` places, and `most_per_address` for one address; 0: no bound of its own."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_with_refused = with_refused(most)
        self._most_per_address = most_per_address
        self._by_address: Counter[str] = Counter()
        self.taken: set[Member] = set()
        self.new: dict[Member, None] = {}
        self.receiving: dict[Member, None] = {}
        self.unread: dict[Member, None] = {}
        self.kept: dict[Member, None] = {}
        self.evicted = 0

    def admits(self, connection: Member) -> bool:
        """Give a new connection a place, if need be another's; False if there is none for it."""
        if self._most_per_address:
            address = client_of(connection.peer)
            if self._by_address[address] >= self._most_per_address:
                return False
            self._by_address[address] += 1
        self.taken.add(connection)
        if len(self.taken) > self._most and not self._make_room():
            return False
        self.new[connection] = None
        return True

    def leave(self, connection: Member) -> None:
        """The connection has ended. It may have lost its place before, or never had one."""
        if connection not in self.taken:
            return
        self.taken.discard(connection)
        self.new.pop(connection, None)
        self.receiving.pop(connection, None)
        self.unread.pop(connection, None)
        self.kept.pop(connection, None)
        if self._most_per_address:
            address = client_of(connection.peer)
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def lets_linger(self, connection: Member) -> bool:
        """Whether one that was not admitted may stay until it has read why."""
        return connection in self.taken and len(self.taken) <= self._most_with_refused

    def _make_room(self) -> bool:
        largest = max((self.receiving, self.new, self.unread, self.kept), key=len)
        if not largest:
            return False
        connection = next(iter(largest))
        self.leave(connection)
        self.evicted += 1
        connection.evict()
        return True


def with_refused(connections: int) -> int:
    """How many there may be, with those beyond the cap that are just being refused."""
    return connections + max(connections // 8, FEWEST_REFUSED)


@lru_cache(10_000)
def client_of(peer: str) -> str:
    """What one client calls from: an address, of IPv6 the network of 64 bits that everybody has."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return address.packed[:_NETWORK_BYTES].hex() if mapped is None else str(mapped)
    return peer
