"""The directory's documents, and the bindings that are made of them.

app/{org}/{app}/{env}    an AppRecord: one app environment with its tables
token/{sha256}           a TokenRecord: the pointer from a token to its app environment
reclaim/{table id}       a ReclaimRecord: the intent to give back the space of a table

What may be relied on in which order is said in `changes`.
"""

from typing import TypeVar

import msgspec
from msgspec import Struct

from backends.errors import CorruptEntry
from backends.interface import Keyspace, Record
from gateway.domain.model import Binding, Budget, Environment, TenantLabels

Document = TypeVar("Document", bound=Struct)

APPS = "app/"
RECLAIMS = "reclaim/"


class RetiringToken(Struct, frozen=True):
    """A rotated token that still works until `valid_until_ms` (wall clock)."""

    sha256: str
    valid_until_ms: int


class TableRecord(Struct, frozen=True):
    """One table. Times are wall-clock milliseconds; declared tables have none."""

    id: str
    name: str
    token_sha256: str
    token_last_four: str | None = None
    minute_limit: int | None = None
    retiring: tuple[RetiringToken, ...] = ()
    created_at_ms: int | None = None
    updated_at_ms: int | None = None

    @property
    def token_digests(self) -> set[str]:
        """The SHA-256 of its token and of those that still work beside it."""
        return {self.token_sha256, *(token.sha256 for token in self.retiring)}


class AppRecord(Struct, frozen=True):
    """One app environment. `suspended` is what the operator wants, `active` what the data plane obeys."""

    environment: Environment
    type: str
    active: bool
    suspended: bool = False
    requests_per_minute: int | None = None
    max_tables: int | None = None
    tables: tuple[TableRecord, ...] = ()

    def table(self, name: str) -> TableRecord | None:
        """The table of exactly this name."""
        return next((table for table in self.tables if table.name == name), None)


class TokenRecord(Struct, frozen=True):
    """Where the app environment of a token is found."""

    environment: Environment


class ReclaimRecord(Struct, frozen=True):
    """The intent to give back the space of a table. `is_purged`: once already; a second purge is due."""

    environment: Environment
    requested_at_ms: int
    is_purged: bool = False


def app_name(environment: Environment) -> str:
    """The record's name; org, app and env hold no slash."""
    return f"{APPS}{environment}"


def token_name(sha256: str) -> str:
    """The record's name."""
    return f"token/{sha256}"


def reclaim_name(table_id: str) -> str:
    """The record's name."""
    return f"{RECLAIMS}{table_id}"


def decode(record: Record, kind: type[Document]) -> Document:
    """The document in a record. Raises CorruptEntry."""
    try:
        return msgspec.json.decode(record.document, type=kind)
    except (ValueError, RecursionError):  # DecodeError, or UnicodeDecodeError
        raise CorruptEntry("a directory record cannot be read") from None


encode = msgspec.json.encode


def labels_of(app: AppRecord, table: TableRecord) -> TenantLabels:
    """What the table's usage is billed by."""
    environment = app.environment
    return TenantLabels(environment.org, environment.app, environment.env, table.name)


def bind(
    app: AppRecord, table: TableRecord, default_limit: int, valid_until_ms: int | None = None
) -> Binding:
    """What a token of `table` stands for. Buckets of apps and of tables differ: a table id holds no slash."""
    budgets = [Budget(str(app.environment), app.requests_per_minute or default_limit)]
    if table.minute_limit is not None:
        budgets.insert(0, Budget(table.id, table.minute_limit))
    return Binding(
        environment=app.environment,
        app_type=app.type,
        active=app.active,
        keyspace=Keyspace(table.id),
        budgets=tuple(budgets),
        labels=labels_of(app, table),
        valid_until_ms=valid_until_ms,
    )


def binding_of(app: AppRecord, sha256: str, default_limit: int) -> Binding | None:
    """The binding of the token with this digest, if one of the app's tables has it, now or still."""
    for table in app.tables:
        if table.token_sha256 == sha256:
            return bind(app, table, default_limit)
        for token in table.retiring:
            if token.sha256 == sha256:
                return bind(app, table, default_limit, token.valid_until_ms)
    return None
