"""The directory's documents, and the bindings that are made of them.

app/{org}/{app}/{env}    an AppRecord: the whole truth about one app environment, tables included,
                         so that every rule about them holds by one compare-and-swap
token/{sha256}           a TokenRecord: which app environment to ask; proves nothing by itself
reclaim/{table id}       a ReclaimRecord: entries that may be removed once no app has the table
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


class AppRecord(Struct, frozen=True):
    """One app environment. `suspended` is the operator's word; `active` is what the data plane obeys."""

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
    """The intent to delete a table, written before the table is removed from its app.

    `is_purged`: once already; a second time is due when no replica can be writing any more.
    """

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
    """What a token of `table` stands for. Names of buckets cannot collide: a table id holds no slash."""
    budgets = [Budget(str(app.environment), app.requests_per_minute or default_limit)]
    if table.minute_limit is not None:
        budgets.append(Budget(table.id, table.minute_limit))
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
