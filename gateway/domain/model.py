"""Values (D166) that travel through the data plane: Caller, Binding, Grant, table operation, Outcome."""

from enum import IntEnum, StrEnum

from msgspec import Struct

from backends.tables import ANY, Budget, Charges, Condition, Revision, StoredEntry, Table


class Operation(StrEnum):
    """The operations of the data plane, by name."""

    PUT = "put"
    GET = "get"
    DELETE = "delete"
    LIST = "list"
    INCREMENT = "increment"
    TOUCH = "touch"
    BATCH = "batch"


class UsageOutcome(IntEnum):
    """The billing outcome of a charged request; its number is its index in a row of counters."""

    OK = 0
    NOT_FOUND = 1
    INVALID = 2
    RATE_LIMITED = 3
    ERROR = 4
    PRECONDITION_FAILED = 5

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


class TenantLabels(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The labels of billed usage."""

    org: str
    app: str
    env: str
    table: str


class Grant(Struct, frozen=True, gc=False):
    """The admission to a table. Only a grant opens a meter, and only an open meter a store.

    `charges` is the price of one request. The table's budget is charged first (D42).
    """

    table: Table
    charges: Charges
    labels: TenantLabels


class Binding(Struct, frozen=True, gc=False):
    """The table, app environment and limits of a table token.

    `grant` is what admission gives to each call of the token, built once.
    """

    environment: Environment
    app_type: str
    active: bool
    grant: Grant
    valid_until_ms: int | None = None

    @property
    def table(self) -> Table:
        """The place of the table in the store."""
        return self.grant.table

    @property
    def budgets(self) -> tuple[Budget, *tuple[Budget, ...]]:
        """The budgets that each call is charged to, in order."""
        return self.grant.charges.budgets


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


# ---- Operations


class Put(Struct, frozen=True, gc=False):
    """Stores `value` (the JSON text as sent) under `key`; `ttl_seconds` None means no expiry."""

    key: str
    value: bytes
    ttl_seconds: int | None
    condition: Condition = ANY


class Get(Struct, frozen=True, gc=False):
    """Reads the value under `key`."""

    key: str


class Delete(Struct, frozen=True, gc=False):
    """Removes the value under `key`, if any."""

    key: str
    condition: Condition = ANY


class List(Struct, frozen=True, gc=False):
    """Lists keys that begin with `prefix`, from behind the key `after` on, with or without their values."""

    prefix: str
    after: str
    limit: int
    has_values: bool


class Increment(Struct, frozen=True, gc=False):
    """Adds `by` to the integer under `key`. `ttl_seconds` applies to an entry that it creates."""

    key: str
    by: int
    ttl_seconds: int | None


class Touch(Struct, frozen=True, gc=False):
    """Gives the entry under `key` another expiry; `ttl_seconds` None means no expiry."""

    key: str
    ttl_seconds: int | None
    condition: Condition = ANY


class Batch(Struct, frozen=True, gc=False):
    """One to 25 operations, each done by itself, in order."""

    operations: tuple[Put | Get | Delete, ...]


TableOperation = Put | Get | Delete | List | Increment | Touch | Batch


# ---- Outcomes


class Stored(Struct, frozen=True, gc=False):
    """The store has acknowledged a put."""

    revision: Revision


class Found(Struct, frozen=True, gc=False):
    """A value, the wall-clock millisecond at which it expires, and the write that made it."""

    value: bytes
    expires_at_ms: int | None
    revision: Revision


class Missing(Struct, frozen=True, gc=False):
    """The entry does not exist or has expired."""


class Deleted(Struct, frozen=True, gc=False):
    """The entry is gone, whether or not it existed."""


class Listed(Struct, frozen=True, gc=False):
    """A page of entries by key, and the cursor of the next page; None on the last one.

    Without `has_values` each entry's value is empty.
    """

    entries: tuple[tuple[str, StoredEntry], ...]
    cursor: str | None
    has_values: bool = False


class Counted(Struct, frozen=True, gc=False):
    """The integer that an increment has stored."""

    value: int
    expires_at_ms: int | None
    revision: Revision


class Touched(Struct, frozen=True, gc=False):
    """The entry has another expiry and revision."""

    expires_at_ms: int | None
    revision: Revision


class NotDone(Struct, frozen=True, gc=False):
    """The error code of an operation of a batch that was not done, and its billing outcome."""

    code: str
    usage: UsageOutcome


class BatchDone(Struct, frozen=True, gc=False):
    """The outcome of each operation of a batch, in order."""

    results: "tuple[Stored | Found | Missing | Deleted | NotDone, ...]"


Outcome = Stored | Found | Missing | Deleted | Listed | Counted | Touched | BatchDone
