"""Values (D166) that travel through the data plane: Caller, Binding, Grant, table operation, Outcome."""

from enum import IntEnum, StrEnum

from msgspec import Struct

from backends.interface import Keyspace


class Operation(StrEnum):
    """The operations of the data plane, by name."""

    PUT = "put"
    GET = "get"
    DELETE = "delete"


class UsageOutcome(IntEnum):
    """The billing outcome of a charged request; its number is its index in a row of counters."""

    OK = 0
    NOT_FOUND = 1
    INVALID = 2
    RATE_LIMITED = 3
    ERROR = 4

    @property
    def label(self) -> str:
        """Value of the label `outcome` of the metrics."""
        return self.name.lower()


class Environment(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The owner of a rate limit: one environment of one app of one organization."""

    org: str
    app: str
    env: str

    def __str__(self) -> str:
        return f"{self.org}/{self.app}/{self.env}"


class Caller(Struct, frozen=True, gc=False):
    """The principal that signed the call. Session credentials may be bound to one app environment.

    A caller that a trusted proxy has authenticated has no access key.
    """

    role: str
    environment: Environment | None = None
    access_key_id: str | None = None


class Budget(Struct, frozen=True, cache_hash=True, gc=False):
    """The name of a counter, and the number of calls that it admits per window."""

    bucket: str
    limit: int


class TenantLabels(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The labels of billed usage."""

    org: str
    app: str
    env: str
    table: str


class Binding(Struct, frozen=True, gc=False):
    """The table, app environment and limits of a table token. The table's budget is charged first (D42)."""

    environment: Environment
    app_type: str
    active: bool
    keyspace: Keyspace
    budgets: tuple[Budget, ...]
    labels: TenantLabels
    valid_until_ms: int | None = None


class Grant(Struct, frozen=True, gc=False):
    """A binding that passed admission. Only a grant opens a meter, and only an open meter a store."""

    keyspace: Keyspace
    budgets: tuple[Budget, ...]
    labels: TenantLabels


class RateLimitStatus(Struct, frozen=True, gc=False):
    """The calls that a budget has left in its window, and the time until the window closes."""

    owner: str
    limit: int
    remaining: int
    closes_in_seconds: int


class ResponseNotes(Struct, gc=False):
    """Header fields that stages add to the answer of a call, for any outcome."""

    warning: str | None = None
    rate_limit: RateLimitStatus | None = None


class Put(Struct, frozen=True, gc=False):
    """Stores `value` (the JSON text as sent) under `key`; `ttl_seconds` None means no expiry."""

    key: str
    value: bytes
    ttl_seconds: int | None


class Get(Struct, frozen=True, gc=False):
    """Reads the value under `key`."""

    key: str


class Delete(Struct, frozen=True, gc=False):
    """Removes the value under `key`, if any."""

    key: str


class Stored(Struct, frozen=True, gc=False):
    """The store has acknowledged a put."""


class Found(Struct, frozen=True, gc=False):
    """A value and the wall-clock millisecond at which it expires."""

    value: bytes
    expires_at_ms: int | None


class Missing(Struct, frozen=True, gc=False):
    """The entry does not exist or has expired."""


class Deleted(Struct, frozen=True, gc=False):
    """The entry is gone, whether or not it existed."""


TableOperation = Put | Get | Delete
Outcome = Stored | Found | Missing | Deleted
