"""One lookup per token at a time (single flight). A lookup that a change has overtaken is not used or cached.

The race to exclude: a lookup reads the app's document before a change and finishes after it. It must neither
answer a call that began after the change, nor be cached.

- Every change increments `_changes` and records the count for its app environment in `_changed_at`. A call
  notes the count before it waits. If its app was changed since, the lookup may have read the state before
  the change, so the call looks up again, even if its own wait began before the change.
- A lookup's app is unknown until the lookup ends. A change therefore detaches all lookups in flight: no later
  call joins them, and none is cached. Lookups of other apps still answer the calls that wait for them; the
  cost is one more lookup later.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.domain.model import Binding, Environment

_MAX_LOOKUPS = 3
"""Per call: an app that changes continuously must not keep a call waiting forever."""

IsCurrent = Callable[[], bool]
"""Returns whether a lookup may still be cached."""

LookUp = Callable[[bytes, IsCurrent], Awaitable[Binding | None]]


class SingleFlight:
    """Shares one run of `look_up` among the calls that wait for the same token."""

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
        """Returns the binding in the store, read after every change of its app that this replica knows."""
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
                self._changed_at.clear()  # only waiting calls compare with it; this bounds its size

    def note_change(self, environment: Environment) -> None:
        """Notes that an app was changed."""
        self._changes += 1
        if self._waiting:
            self._changed_at[environment] = self._changes
        self._in_flight.clear()

    def detach(self, digest: bytes) -> None:
        """Keeps later calls from joining a lookup that may have missed the token's creation or removal."""
        self._in_flight.pop(digest, None)

    def note_possible_changes(self) -> None:
        """Notes that any app may have been changed."""
        self._changes += 1
        self._all_changed_at = self._changes
        self._in_flight.clear()

    def _was_changed(self, environment: Environment, changes: int) -> bool:
        return max(self._all_changed_at, self._changed_at.get(environment, 0)) > changes

    async def _join(self, digest: bytes) -> Binding | None:
        """Waits for the token's lookup in flight or for a new one. A cancelled call does not cancel it."""
        lookup = self._in_flight.get(digest)
        if lookup is None:
            lookup = self._in_flight[digest] = asyncio.create_task(self._run(digest))
        return await asyncio.shield(lookup)

    async def _run(self, digest: bytes) -> Binding | None:
        this = asyncio.current_task()

        def is_current() -> bool:
            # By identity of the task, not by presence of the digest: after a change has detached this lookup,
            # the entry may be that of a newer lookup, which must stay, and this one must not be cached.
            return self._in_flight.get(digest) is this

        try:
            return await self._look_up(digest, is_current)
        finally:
            if is_current():
                del self._in_flight[digest]
