"""Lookups of bindings in flight: one per token (single flight), and none that a change has overtaken is kept.

The race to be excluded is a lookup that read the app's document before a change and finishes after it: it
must neither answer a call that began after the change, nor be cached.

- Every change counts `_changes` up and notes the count under its app environment, in `_changed_at`. A call
  notes the count before it waits. If its app was changed since, the lookup may have read what was there
  before and is made again (for the calls that have waited for it, too).
- Which app a lookup is about is not known before it ends. So a change detaches all lookups in flight: no
  later call joins one, and none of them is cached. Lookups of other apps still answer those who wait for
  them; they cost one more lookup later.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.domain.model import Binding, Environment

_MAX_LOOKUPS = 3
"""Of one call: an app that is changed without pause must not keep it waiting for ever."""

IsCurrent = Callable[[], bool]
"""Whether a lookup may still be cached."""

LookUp = Callable[[bytes, IsCurrent], Awaitable[Binding | None]]


class Lookups:
    """Shares `look_up` among the calls that wait for the same token."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._in_flight: dict[bytes, asyncio.Task[Binding | None]] = {}
        self._waiting = 0
        self._changes = 0
        self._all_changed_at = 0
        self._changed_at: dict[Environment, int] = {}

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._in_flight

    async def current(self, digest: bytes) -> Binding | None:
        """The binding as the store has it, read after every change of its app that is known here."""
        self._waiting += 1
        try:
            for _ in range(_MAX_LOOKUPS):
                changes = self._changes
                binding = await self._join(digest)
                if binding is None or not self._was_changed(binding.environment, changes):
                    break
            return binding
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._changed_at.clear()  # of interest only to those who wait

    def note_change(self, environment: Environment) -> None:
        """An app was changed."""
        self._changes += 1
        if self._waiting:
            self._changed_at[environment] = self._changes
        self._in_flight.clear()

    def forget(self, digest: bytes) -> None:
        """A token was made or removed: its lookup in flight may have seen neither."""
        self._in_flight.pop(digest, None)

    def note_changes(self) -> None:
        """Any app may have been changed."""
        self._changes += 1
        self._all_changed_at = self._changes
        self._in_flight.clear()

    def _was_changed(self, environment: Environment, changes: int) -> bool:
        return max(self._all_changed_at, self._changed_at.get(environment, 0)) > changes

    async def _join(self, digest: bytes) -> Binding | None:
        """The lookup of this token that is in flight, or a new one; it outlives a call that is cancelled."""
        lookup = self._in_flight.get(digest)
        if lookup is None:
            lookup = self._in_flight[digest] = asyncio.create_task(self._run(digest))
        return await asyncio.shield(lookup)

    async def _run(self, digest: bytes) -> Binding | None:
        this = asyncio.current_task()

        def is_current() -> bool:
            return self._in_flight.get(digest) is this

        try:
            return await self._look_up(digest, is_current)
        finally:
            if is_current():
                del self._in_flight[digest]
