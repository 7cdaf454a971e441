"""Bounds of connections that wait for their clients: the limiter bounds their number, a deadline their time.

A connection can be evicted while it waits for its client. When the listener is full, a new one takes
the place (D150) of the connection that has waited longest in the largest group. So a flood evicts only its
own kind: silent connections, bodies that do not arrive, clients that do not read, or idle connections. A
connection whose request is being served is never evicted.

The group follows from the state of the connection. A closing connection stays in its group, so that being
refused does not prolong the stay of a client. Nothing is searched: each group is a dict in the order in
which its connections began to wait.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Generic, Protocol, TypeVar

from gateway.http.state import (
    CLOSING,
    HEAD,
    KEPT,
    LINGERING,
    NEW,
    RECEIVING,
    SERVING,
    TRANSITIONS,
    UNREAD,
    State,
)

FEWEST_REFUSED = 64
_NETWORK_BYTES = 8


class Connected(Protocol):
    """The limiter's view of a connection."""

    peer: str

    def evict(self) -> None:
        """Closes immediately, to make room for another connection."""
        ...


Member = TypeVar("Member", bound=Connected)

_Group = dict[Member, None]


class ConnectionLimiter(Generic[Member]):
    """Admits `max_connections`, and `max_per_address` of one address; 0: no limit per address.

    `connections` holds all open ones, including those being refused. `steps` is the table of
    transitions with the groups that an admitted connection leaves and joins: a request takes two steps, and
    a table computed once makes each of them one lookup.
    """

    def __init__(self, max_connections: int, max_per_address: int) -> None:
        self._max_connections = max_connections
        self._max_with_refused = with_refused(max_connections)
        self._max_per_address = max_per_address
        self._by_address: Counter[str] = Counter()
        self.connections: set[Member] = set()
        self.new: _Group[Member] = {}
        self.receiving: _Group[Member] = {}
        self.unread: _Group[Member] = {}
        self.kept: _Group[Member] = {}
        self.steps = {
            before: {event: (after, *self._move(before, after)) for event, after in row.items()}
            for before, row in TRANSITIONS.items()
        }
        self.evicted = 0

    def admit(self, connection: Member) -> bool:
        """Admits a new connection, if necessary by evicting one. Returns False if there is no room for it."""
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

    def _move(self, before: State, after: State) -> tuple[_Group[Member] | None, _Group[Member] | None]:
        """Returns the groups that a connection leaves and joins when its state changes."""
        groups = {
            NEW: self.new,
            HEAD: self.kept,  # keeps its turn: a byte now and then does not prolong its stay
            KEPT: self.kept,
            RECEIVING: self.receiving,
            UNREAD: self.unread,
            LINGERING: self.unread,
        }
        left, joined = groups.get(before), groups.get(after)
        if after is before:
            return None, None
        if after is SERVING:
            return left, None
        if before is SERVING and after is CLOSING:
            return None, self.unread  # its last response has yet to be read
        if joined is None or joined is left:
            return None, None
        return left, joined

    def _make_room(self) -> bool:
        largest = max((self.receiving, self.new, self.unread, self.kept), key=len)
        if not largest:
            return False
        connection = next(iter(largest))
        self.leave(connection)
        self.evicted += 1
        connection.evict()
        return True


class Deadline:
    """The one deadline of a connection. Setting another replaces it.

    Most deadlines are never reached: a response sets one, and the next request clears it. So the timer is
    left alone, and checks when it fires whether the deadline has moved. An earlier one needs a new timer.
    """

    __slots__ = ("_at", "_late", "_loop", "_timer", "_timer_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._late: Callable[[], object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._at = self._timer_at = 0.0

    def set(self, seconds: float, late: Callable[[], object]) -> None:
        """Sets the deadline: `late` is called after so many seconds."""
        self._late = late
        self._at = self._loop.time() + seconds
        if self._timer is None:
            self._start()
        elif self._at < self._timer_at:
            self._timer.cancel()
            self._start()

    def clear(self) -> None:
        """Clears the deadline."""
        self._late = None

    def close(self) -> None:
        """Clears the deadline and cancels the timer, for good."""
        self._late = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        self._timer_at = self._at
        self._timer = self._loop.call_at(self._at, self._fire)

    def _fire(self) -> None:
        self._timer = None
        late = self._late
        if late is None:
            return
        if self._loop.time() < self._at:
            self._start()
            return
        self._late = None
        late()


def with_refused(connections: int) -> int:
    """Returns the limit with room for connections that are being refused."""
    return connections + max(connections // 8, FEWEST_REFUSED)


@lru_cache(10_000)
def client_of(peer: str) -> str:
    """Returns the address that identifies a client; for IPv6, its /64 network."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return address.packed[:_NETWORK_BYTES].hex() if mapped is None else str(mapped)
    return peer
