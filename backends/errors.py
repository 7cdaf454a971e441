"""The errors that a store may raise; no other exception leaves an adapter.

BackendError
    BackendUnavailable      time-out, refused, throttled: the next call may succeed
    BackendMisconfigured    no such table, access denied: an operator must act
    StoreFull               a bounded store has no room; nothing was written or evicted
    CorruptEntry            the data read were not written by this gateway
    ChargeFailed            the charge failed, and no operation was begun
    NotBegun                the caller's attempt ended before the operations, and none was begun

Messages name the store and the condition, never a key, a value or a credential.
"""

from typing import Self


class BackendError(Exception):
    """Base of every failure of a store."""

    did_nothing = False
    """Whether the store certainly did nothing of the call. Without it, the call may have been executed."""

    def before_anything(self) -> Self:
        """Returns the same error, for a call of which nothing was done."""
        copy = self.copy()
        copy.did_nothing = True
        return copy

    def copy(self) -> Self:
        """Returns the same error without traceback and context, to be raised.

        One instance that many tasks raise would collect the frames of all of them.
        """
        copy = type(self).__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__)
        return copy


class BackendUnavailable(BackendError):
    """The store does not answer, or cannot serve for a while."""


class BackendMisconfigured(BackendError):
    """The store refuses the call, and will until an operator changes its setup or ours."""


class StoreFull(BackendError):
    """A bounded store has no room for this entry."""


class CorruptEntry(BackendError):
    """A stored entry or record that this gateway cannot have written."""


class ChargeFailed(BackendError):
    """A charge failed, and no operation was begun. The cause is the store's error."""


class NotBegun(BackendError):
    """The caller withdrew a step after its charge; no operation was begun."""


def as_backend_error(error: Exception) -> BackendError:
    """Returns a BackendError as it is; wraps another exception by its type, as its text may hold a secret."""
    if isinstance(error, BackendError):
        return error
    return BackendUnavailable(f"unhandled exception: {type(error).__name__}")
