"""What a store may raise; nothing else may leave an adapter.

BackendError
    BackendUnavailable      time-out, refused, throttled: the next call may succeed
    BackendMisconfigured    no such table, access denied: an operator has to act
    StoreFull               a bounded store has no room; nothing was written or evicted
    CorruptEntry            what was read is not what this gateway writes

Messages name the store and the condition, never a key, a value or a credential.
"""

from typing import Self


class BackendError(Exception):
    """Base of every failure of a store."""

    def copy(self) -> Self:
        """The same error without traceback and context, for one more `raise`.

        An instance that is kept and raised by many tasks would collect the frames of all of them.
        """
        copy = type(self).__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__)
        return copy


class BackendUnavailable(BackendError):
    """The store did not answer, or cannot serve for a while."""


class BackendMisconfigured(BackendError):
    """The store answered that it will never do this as it is set up."""


class StoreFull(BackendError):
    """A bounded store has no room left for this entry."""


class CorruptEntry(BackendError):
    """An entry or record that this gateway cannot have written."""


def as_backend_error(error: Exception) -> BackendError:
    """`error`, or one that names the kind of an unhandled exception, whose text may hold a secret."""
    if isinstance(error, BackendError):
        return error
    return BackendUnavailable(f"unhandled exception: {type(error).__name__}")
