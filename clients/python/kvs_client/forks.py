"""Renewal of connections, locks and credentials in forked processes.

Two processes on one connection read each other's answers. A lock or a future that a thread of the parent
holds is never released or completed in the child: the thread does not exist there. gunicorn with
`preload_app`, for example, forks after an app has created its clients, and perhaps used them.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """An object that replaces its parts in a new process."""

    def renew(self) -> None: ...


_RENEWABLE: WeakSet[Renewable] = WeakSet()
_KEPT: list[object] = []


def renew_in_children(each: Renewable) -> None:
    """Calls the `renew` of the object in each process that this one forks."""
    _RENEWABLE.add(each)


def keep_alive(parts: object) -> None:
    """Keeps parts from being finalized.

    A finalizer could wait for a lock of a thread that does not exist here, or remove sockets from the event
    loop of the other process.
    """
    _KEPT.append(parts)


def _renew() -> None:
    for each in list(_RENEWABLE):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_renew)
