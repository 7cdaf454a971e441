"""Which request the current task serves: asked only when a line is logged, so that requests pay nothing.

A connection is one task that serves its requests in turn. Work that is started beside it, for several
requests or for none, has no request id.
"""

import asyncio
from collections.abc import Callable

Current = Callable[[], str | None]

_connections: dict[asyncio.Task[None], Current] = {}


def name_request_of(task: asyncio.Task[None], current: Current) -> None:
    """From now on `current` tells which request the task is serving."""
    _connections[task] = current


def forget(task: asyncio.Task[None]) -> None:
    """The task serves no more requests."""
    _connections.pop(task, None)


def current_request_id() -> str | None:
    """The id of the request that the running task serves; None if it serves none."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a thread without an event loop
        return None
    current = None if task is None else _connections.get(task)
    return None if current is None else current()
