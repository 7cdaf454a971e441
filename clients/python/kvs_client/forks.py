"""What a process has from the one that forked it, and must not use.

Two processes on one connection read each other's answers. What a thread of the other process holds or was to
bring, a turn or credentials, does not come: the thread is not here. gunicorn's `preload_app`, for one, forks
after an app has made its clients, and perhaps used them.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Renewed(Protocol):
    """What replaces its own parts in a new process."""

    def renew(self) -> None: ...


_RENEWED: WeakSet[Renewed] = WeakSet()
_LEFT: list[object] = []


def renew_in_children(each: Renewed) -> None:
    """Call its `renew` in each process that this one forks."""
    _RENEWED.add(each)


def leave(parts: object) -> None:
    """Keeps parts from being finalized.

    That could wait for a lock of a thread that is not here, or take sockets from the event loop of the other
    process.
    """
    _LEFT.append(parts)


def _renew() -> None:
    for each in list(_RENEWED):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew)
