"""The state that all connections of one listener share, and the number of them that is affordable."""

import asyncio
import resource
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from backends.clock import Clock
from gateway.config.settings import EdgeSettings
from gateway.domain.errors import Refusal
from gateway.http.admission import FEWEST_REFUSED, ConnectionLimiter, with_refused
from gateway.http.fence import Fence
from gateway.http.messages import Handler
from gateway.http.state import AWAITS_HEAD, State
from gateway.http.turns import Lane

_SPARE_FILES = 256
"""Open files for the other listeners, the stores, and the process itself."""


class OpenConnection(Protocol):
    """The listener's view of its connections."""

    peer: str

    @property
    def state(self) -> State:
        """State of the connection (`gateway.http.state`)."""
        ...

    def close_if_idle(self) -> None:
        """Closes unless a request whose head has arrived still lacks its response."""
        ...

    def stop_lingering(self) -> None:
        """Closes now if the connection only waits for its last response to be delivered."""
        ...

    def evict(self) -> None:
        """Closes immediately, to make room for another connection."""
        ...

    def abort(self) -> None:
        """Closes immediately, and cancels the request being served."""
        ...

    def distrust(self) -> None:
        """Begins no request that it has received so far (`gateway.http.fence`)."""
        ...


def _never() -> bool:
    return False


def _uncounted(_: Refusal) -> None:
    """Counts nothing: only the data plane's refusals are metered."""


class Service:
    """A handler, and the connections that it serves.

    While `is_draining`, a response ends its connection once all that was pipelined is answered.
    `count_refusal` gets the refusals of input that never became a request. `fence` is that of the process.
    TLS handshakes take their turns in the lane `handshakes`, if there is one.
    """

    def __init__(
        self,
        handler: Handler,
        settings: EdgeSettings,
        clock: Clock,
        *,
        is_draining: Callable[[], bool] = _never,
        count_refusal: Callable[[Refusal], None] = _uncounted,
        fence: Fence | None = None,
        handshakes: Lane | None = None,
    ) -> None:
        self.handler = handler
        self.settings = settings
        self.clock = clock
        self.is_draining = is_draining
        self.count_refusal = count_refusal
        self.fence = fence or Fence(clock.boot_seconds)
        self.fence.on_standstill(self._distrust)
        self.handshakes = handshakes
        self.limiter: ConnectionLimiter[OpenConnection] = ConnectionLimiter(
            settings.max_connections, settings.max_connections_per_address
        )
        self.unfinished: set[asyncio.Task[None]] = set()  # of connections that are lost
        self.to_connect: WeakSet[OpenConnection] = WeakSet()  # accepted; the loop has yet to call them

    @property
    def connections(self) -> set[OpenConnection]:
        """All open connections."""
        return self.limiter.connections

    def _distrust(self) -> None:
        for connection in list(self.connections):
            connection.distrust()

    @property
    def awaits_heads(self) -> bool:
        """Tests whether a connection is new, is shaking hands, or has sent a part of a request's head."""
        return bool(self.to_connect) or any(each.state in AWAITS_HEAD for each in self.connections)


def affordable_connections(wanted: int) -> int:
    """Returns as many connections as the limit of open files admits; the limit is raised if possible.

    Every connection is an open file; when those run out, no probe is answered.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = with_refused(wanted) + _SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    room = limit - min(_SPARE_FILES, limit // 2)
    return max(min(wanted, room - max(room // 9, FEWEST_REFUSED)), 1)
