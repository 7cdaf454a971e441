"""Values (D71) that travel through the data plane: Call, Caller, Binding, Grant, table operation, Outcome."""

from enum import IntEnum, StrEnum

from msgspec import Struct

from backends.interface import Keyspace
from gateway.domain.headers import Headers


class Operation(StrEnum):
    """The three operations of the data plane, by name."""

    PUT = "put"
    GET = "get"
    DELETE = "delete"


class UsageOutcome(IntEnum):
    """How a charged request is billed; the number is its place in a row of counters."""

    OK = 0
    NOT_FOUND = 1
    INVALID = 2
    RATE_LIMITED = 3
    ERROR = 4

    @property
    def label(self) -> str:
        """The value of the metric's label."""
        return self.name.lower()


class Call(Struct, frozen=True, gc=False):
    """One received request: `target` and `body` are the bytes on the wire."""

    operation: Operation
    target: bytes
    headers: Headers
    body: bytes
    peer: str


class Environment(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The owner of a rate limit: one environment of one app of one organization."""

    org: str
    app: str
    env: str

    def __str__(self) -> str:
        return f"{self.org}/{self.app}/{self.env}"


class Caller(Struct, frozen=True, gc=False):
    """The principal that signed the call. Session credentials may be bound to one app environment.

    One that a proxy vouches for has no access key.
    """

    role: str
    environment: Environment | None = None
    access_key_id: str | None = None


class Budget(Struct, frozen=True, cache_hash=True, gc=False):
    """A counter's name and how many calls it admits per window."""

    bucket: str
    limit: int


class TenantLabels(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """What usage is billed by."""

    org: str
    app: str
    env: str
    table: str


class Binding(Struct, frozen=True, gc=False):
    """What a table token resolves to. `budgets` are charged in order: table, then environment (D42)."""

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
    """How a budget stands: the calls that are left in its window, and the time until that closes."""

    owner: str
    limit: int
    remaining: int
    closes_in_seconds: int


class ResponseNotes(Struct, gc=False):
    """What a call's answer says beside its outcome, whatever that is: noted on the way."""

    warning: str | None = None
    rate_limit: RateLimitStatus | None = None


class Put(Struct, frozen=True, gc=False):
    """Store `value` (the JSON text as sent) under `key`; `ttl_seconds` None means no expiry."""

    key: str
    value: bytes
    ttl_seconds: int | None


class Get(Struct, frozen=True, gc=False):
    """Read the value under `key`."""

    key: str


class Delete(Struct, frozen=True, gc=False):
    """Remove the value under `key`, if any."""

    key: str


class Stored(Struct, frozen=True, gc=False):
    """A put was acknowledged by the store."""


class Found(Struct, frozen=True, gc=False):
    """A value and the wall-clock millisecond at which it expires."""

    value: bytes
    expires_at_ms: int | None


class Missing(Struct, frozen=True, gc=False):
    """No such entry, or one that has expired."""


class Deleted(Struct, frozen=True, gc=False):
    """The entry is gone, whether or not it was there."""


TableOperation = Put | Get | Delete
Outcome = Stored | Found | Missing | Deleted
