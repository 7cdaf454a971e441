"""Admission of connections to a listener, and eviction of waiting ones (D150).

A connection can be evicted while it waits for its client. When the listener is full, a new connection takes
the place of the one that has waited longest in the largest group of waiting connections. So a flood of silent
connections evicts its own, and so do bodies that do not come, clients that do not read, and connections that
are kept without a use. A connection whose request is being served is never evicted.

The group follows from the state of the connection. One that ends stays in the group where it waited, so that
no client gains a longer stay by being refused. Nothing is searched: each group is a dict in the order in
which its connections began to wait.
"""

from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Generic, Protocol, TypeVar

from gateway.http.state import CLOSING, HEAD, KEPT, LINGERING, NEW, RECEIVING, SERVING, UNREAD, State

FEWEST_REFUSED = 64
_NETWORK_BYTES = 8


class Connected(Protocol):
    """The limiter's view of a connection."""

    peer: str

    def evict(self) -> None:
        """Closes immediately, to make room for another connection."""
        ...


Member = TypeVar("Member", bound=Connected)


class ConnectionLimiter(Generic[Member]):
    """Admits `max_connections`, and `max_per_address` of one address; 0: no limit per address.

    `connections` are all that are open, with those that are just being refused.
    """

    def __init__(self, max_connections: int, max_per_address: int) -> None:
        self._max_connections = max_connections
        self._max_with_refused = with_refused(max_connections)
        self._max_per_address = max_per_address
        self._by_address: Counter[str] = Counter()
        self.connections: set[Member] = set()
        self.new: dict[Member, None] = {}
        self.receiving: dict[Member, None] = {}
        self.unread: dict[Member, None] = {}
        self.kept: dict[Member, None] = {}
        self._groups = {
            NEW: self.new,
            HEAD: self.kept,  # keeps the turn that it had: a byte now and then buys no longer stay
            KEPT: self.kept,
            RECEIVING: self.receiving,
            UNREAD: self.unread,
            LINGERING: self.unread,
        }
        self.evicted = 0

    def admit(self, connection: Member) -> bool:
        """Admits a new connection, if need be by an eviction. Returns False if there is no room for it."""
        if self._max_per_address:
            address = client_of(connection.peer)
            if self._by_address[address] >= self._max_per_address:
                return False
            self._by_address[address] += 1
        self.connections.add(connection)
        if len(self.connections) > self._max_connections and not self._make_room():
            return False
        self.new[connection] = None
        return True

    def moved(self, connection: Member, before: State, after: State) -> None:
        """Follows an admitted connection into the group of its new state."""
        left, joined = self._groups.get(before), self._groups.get(after)
        if joined is not None:
            if left is not joined:
                if left is not None:
                    left.pop(connection, None)
                joined[connection] = None
        elif after is SERVING:
            if left is not None:
                left.pop(connection, None)
        elif after is CLOSING and before is SERVING:
            self.unread[connection] = None  # its last response has yet to be read

    def leave(self, connection: Member) -> None:
        """Removes a connection that has ended. It may have been evicted before, or never been admitted."""
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        for group in (self.new, self.receiving, self.unread, self.kept):
            group.pop(connection, None)
        if self._max_per_address:
            address = client_of(connection.peer)
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def may_linger(self, connection: Member) -> bool:
        """Tests whether a connection that was not admitted may stay until it has read its refusal."""
        return connection in self.connections and len(self.connections) <= self._max_with_refused

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
    """Adds to a number of connections those beyond the limit that are just being refused."""
    return connections + max(connections // 8, FEWEST_REFUSED)


@lru_cache(10_000)
def client_of(peer: str) -> str:
    """Returns the address that one client calls from; of IPv6, its network of 64 bits."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return address.packed[:_NETWORK_BYTES].hex() if mapped is None else str(mapped)
    return peer
