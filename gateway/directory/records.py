"""The directory's documents, and the bindings that are made of them.

app/{org}/{app}/{env}    an AppRecord: one app environment with its tables
token/{sha256}           a TokenRecord: the pointer from a token to its app environment
reclaim/{table id}       a ReclaimRecord: the intent to give back the space of a table
memory/bindings          a MemoryRecord: for how long replicas remember bindings
lease/reclaiming         a LeaseRecord: which replica reclaims, and how far it is

Which may be relied on when is said in `changes`.
"""

from hashlib import sha256
from sys import intern
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from backends.errors import CorruptEntry
from backends.interface import Keyspace, Record
from gateway.domain.model import Binding, Budget, Environment, TenantLabels

Document = TypeVar("Document", bound=Struct)

APPS = "app/"
TOKENS = "token/"
RECLAIMS = "reclaim/"
MEMORY = "memory/bindings"
LEASE = "lease/reclaiming"


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

    def without_ended_tokens(self, now_ms: int) -> "TableRecord":
        """The same table without the retiring tokens whose time is up."""
        return replace(self, retiring=tuple(t for t in self.retiring if t.valid_until_ms > now_ms))


class AppRecord(Struct, frozen=True):
    """One app environment. `suspended` is what the operator wants, `active` what the data plane obeys.

    `changes` are the ids of the last ones that made it what it is: how a writer finds its own (D133).
    """

    environment: Environment
    type: str
    active: bool
    suspended: bool = False
    requests_per_minute: int | None = None
    max_tables: int | None = None
    tables: tuple[TableRecord, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def table_ids(self) -> set[str]:
        """Of all its tables."""
        return {table.id for table in self.tables}

    @property
    def token_digests(self) -> set[str]:
        """Of all its tables."""
        return {digest for table in self.tables for digest in table.token_digests}

    def without_ended_tokens(self, now_ms: int) -> "AppRecord":
        """The same app without the retiring tokens whose time is up."""
        return replace(self, tables=tuple(table.without_ended_tokens(now_ms) for table in self.tables))

    def table(self, name: str) -> TableRecord | None:
        """The table of exactly this name."""
        return next((table for table in self.tables if table.name == name), None)


class _Change(Struct, frozen=True):
    """What of a record is to be changed: UNSET stays as it is, None makes it the default again."""

    @property
    def named(self) -> dict[str, Any]:
        """What is to be changed, and nothing else."""
        values = {field: getattr(self, field) for field in self.__struct_fields__}
        return {field: value for field, value in values.items() if value is not UNSET}


class AppChange(_Change, frozen=True):
    """Of an app."""

    type: str | UnsetType = UNSET
    requests_per_minute: int | UnsetType | None = UNSET
    max_tables: int | UnsetType | None = UNSET


class TableChange(_Change, frozen=True):
    """Of a table."""

    minute_limit: int | UnsetType | None = UNSET


class TokenRecord(Struct, frozen=True):
    """Where the app environment of a token is found."""

    environment: Environment


class ReclaimRecord(Struct, frozen=True):
    """The intent to give back the space of a table of this app; None: no app is known to have had it.

    `is_purged`: once already; a second purge is due after a wait, of which `waited_ms` are over. `seal` is a
    checksum of all that and of the table's id (D191); those of older versions have none.
    """

    environment: Environment | None
    is_purged: bool = False
    waited_ms: int = 0
    seal: str | None = None


class MemoryRecord(Struct, frozen=True):
    """For how long any replica has ever been set to remember bindings."""

    longest_ms: int


class Walk(Struct, frozen=True):
    """One purge of many tables, under way: the names and versions of their intents as it began.

    `cursor`: where the next step begins; None before the first.
    """

    intents: dict[str, str]
    cursor: str | None = None


class LeaseRecord(Struct, frozen=True):
    """Which replica reclaims; `turn` is another one each time it says that it still does."""

    holder: str
    turn: int
    walk: Walk | None = None


_KINDS: dict[str, type[Struct]] = {
    APPS: AppRecord,
    TOKENS: TokenRecord,
    RECLAIMS: ReclaimRecord,
    MEMORY: MemoryRecord,
    LEASE: LeaseRecord,
}


def app_name(environment: Environment) -> str:
    """The record's name; org, app and env hold no slash."""
    return f"{APPS}{environment}"


def environment_in(name: str) -> Environment | None:
    """The app environment whose document has this name; None for other names."""
    parts = name.removeprefix(APPS).split("/")
    return Environment(*parts) if name.startswith(APPS) and len(parts) == 3 else None


def token_digest_in(name: str) -> bytes | None:
    """The digest of the token whose pointer has this name; None for other names."""
    if not name.startswith(TOKENS):
        return None
    try:
        return bytes.fromhex(name.removeprefix(TOKENS))
    except ValueError:
        return None


def token_name(sha256: str) -> str:
    """The record's name."""
    return f"{TOKENS}{sha256}"


def reclaim_name(table_id: str) -> str:
    """The record's name."""
    return f"{RECLAIMS}{table_id}"


def kind_of(name: str) -> type[Struct]:
    """What the record of this name holds."""
    return next(kind for prefix, kind in _KINDS.items() if name.startswith(prefix))


def decode(name: str, record: Record, kind: type[Document]) -> Document:
    """The document in a record. Raises CorruptEntry, also if it is the document of another app."""
    try:
        document = msgspec.json.decode(record.document, type=kind)
    except (ValueError, RecursionError):  # DecodeError, or UnicodeDecodeError
        raise CorruptEntry("a directory record cannot be read") from None
    if isinstance(document, AppRecord) and app_name(document.environment) != name:
        raise CorruptEntry("a directory record has the name of another one")
    if isinstance(document, ReclaimRecord) and document.seal not in (None, _seal_of(name, document)):
        raise CorruptEntry("an intent is not what was written under this name")
    return document


def sealed(name: str, intent: ReclaimRecord) -> ReclaimRecord:
    """The intent as it is written under its name."""
    return replace(intent, seal=_seal_of(name, intent))


def _seal_of(name: str, intent: ReclaimRecord) -> str:
    text = name.encode(errors="surrogateescape") + b"\n" + encode(replace(intent, seal=None))
    return sha256(text).hexdigest()[:16]


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
        app_type=intern(app.type),
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
