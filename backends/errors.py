"""What a store may raise; nothing else may leave an adapter.

BackendError
    BackendUnavailable      time-out, refused, throttled: the next call may succeed
    BackendMisconfigured    no such table, access denied: an operator has to act
    StoreFull               a bounded store has no room; nothing was written or evicted
    CorruptEntry            what was read is not what this gateway writes

Messages name the store and the condition, never a key, a value or a credential.
"""


class BackendError(Exception):
    """Base of every failure of a store."""


class BackendUnavailable(BackendError):
    """The store did not answer, or asked to be left alone for a while."""


class BackendMisconfigured(BackendError):
    """The store answered that it will never do this as it is set up."""


class StoreFull(BackendError):
    """A bounded store has no room left for this entry."""


class CorruptEntry(BackendError):
    """An entry or record that this gateway cannot have written."""
