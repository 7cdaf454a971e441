"""What all connections of one listener share, and how many there may be."""

import asyncio
import resource
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from backends.clock import Clock
from gateway.config.settings import EdgeSettings
from gateway.domain.errors import Refusal
from gateway.http.admission import FEWEST_REFUSED, ConnectionLimiter, with_refused
from gateway.http.messages import Handler

_SPARE_FILES = 256
"""For the other listeners, stores, and the process itself."""


class OpenConnection(Protocol):
    """What a listener asks of its connections."""

    peer: str

    @property
    def awaits_head(self) -> bool:
        """Whether it is new, or has sent a part of a request's head."""
        ...

    def close_if_idle(self) -> None:
        """Close unless a request is on its way to its response."""
        ...

    def stop_lingering(self) -> None:
        """Close now where only a last response's way to the client is waited for."""
        ...

    def evict(self) -> None:
        """Close at once: the place is another's."""
        ...

    def abort(self) -> None:
        """Close at once, whatever is lost."""
        ...


def _never() -> bool:
    return False


def _uncounted(_: Refusal) -> None:
    """Only the data plane's refusals are metered."""


class Service:
    """A handler, and the connections that it serves.

    While `is_draining`, a response ends its connection once all that was pipelined is answered.
    `count_refusal` is told of what was refused before it was a request.
    """

    def __init__(
        self,
        handler: Handler,
        settings: EdgeSettings,
        clock: Clock,
        *,
        is_draining: Callable[[], bool] = _never,
        count_refusal: Callable[[Refusal], None] = _uncounted,
    ) -> None:
        self.handler = handler
        self.settings = settings
        self.clock = clock
        self.is_draining = is_draining
        self.count_refusal = count_refusal
        self.limiter: ConnectionLimiter[OpenConnection] = ConnectionLimiter(
            settings.max_connections, settings.max_connections_per_address
        )
        self.unfinished: set[asyncio.Task[None]] = set()  # of connections that are lost
        self.to_connect: WeakSet[OpenConnection] = WeakSet()  # accepted, and not told of it yet

    @property
    def connections(self) -> set[OpenConnection]:
        """All that are open."""
        return self.limiter.taken

    @property
    def awaits_heads(self) -> bool:
        """Whether a connection is new, is shaking hands, or has sent a part of a request's head."""
        return bool(self.to_connect) or any(each.awaits_head for each in self.connections)


def affordable_connections(wanted: int) -> int:
    """As many of them as the limit of open files admits, which is raised if the system lets it be.

    Every connection is an open file; where those run out, no probe is answered.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = with_refused(wanted) + _SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    room = limit - min(_SPARE_FILES, limit // 2)
    return max(min(wanted, room - max(room // 9, FEWEST_REFUSED)), 1)
