"""The directory's documents.

app/{org}/{app}/{env}    an AppRecord: one app environment with its tables
token/{sha256}           a TokenRecord: the pointer from a token to its app environment
reclaim/{table id}       a ReclaimRecord: the intent to give back the space of a table
memory/bindings          a RetentionRecord: the longest time for which any replica caches bindings
lease/reclaiming         a LeaseRecord: the replica that reclaims
lease/sweeping           a LeaseRecord: the replica that sweeps

`apps.changes` explains when each of them is valid. During a rollout, replicas of the previous version read
and write the same records, so stored field names must not change.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from backends.errors import CorruptEntry
from backends.interface import Record
from gateway.domain.model import Environment

Document = TypeVar("Document", bound=Struct)

APPS = "app/"
TOKENS = "token/"
RECLAIMS = "reclaim/"
RETENTION = "memory/bindings"
LEASE = "lease/reclaiming"
SWEEPING = "lease/sweeping"


class RetiringToken(Struct, frozen=True, gc=False):
    """A rotated token that still works until `valid_until_ms` (wall clock)."""

    sha256: str
    valid_until_ms: int


class TableRecord(Struct, frozen=True, gc=False):
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
        """SHA-256 of its token and of the older tokens that still work."""
        return {self.token_sha256, *(token.sha256 for token in self.retiring)}

    def without_ended_tokens(self, now_ms: int) -> "TableRecord":
        """Returns the table without the retiring tokens that have ended."""
        return replace(self, retiring=tuple(t for t in self.retiring if t.valid_until_ms > now_ms))


class AppRecord(Struct, frozen=True, gc=False):
    """One app environment. Operators set `suspended`; the data plane obeys `active`.

    `changes` holds the ids of the latest changes, by which a writer recognizes its own (D133).
    """

    environment: Environment
    type: str
    active: bool
    suspended: bool = False
    requests_per_minute: int | None = None
    max_tables: int | None = None
    max_bytes: int | None = None
    tables: tuple[TableRecord, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def table_ids(self) -> set[str]:
        """Ids of all its tables."""
        return {table.id for table in self.tables}

    @property
    def token_digests(self) -> set[str]:
        """SHA-256 of the tokens of all its tables."""
        return {digest for table in self.tables for digest in table.token_digests}

    def without_ended_tokens(self, now_ms: int) -> "AppRecord":
        """Returns the app without the retiring tokens that have ended."""
        return replace(self, tables=tuple(table.without_ended_tokens(now_ms) for table in self.tables))

    def table(self, name: str) -> TableRecord | None:
        """Returns the table of exactly this name."""
        return next((table for table in self.tables if table.name == name), None)


class _FieldChanges(Struct, frozen=True):
    """New values of fields: UNSET keeps a field, None resets it to the default."""

    @property
    def named(self) -> dict[str, Any]:
        """The fields that were given."""
        values = {field: getattr(self, field) for field in self.__struct_fields__}
        return {field: value for field, value in values.items() if value is not UNSET}


class AppChange(_FieldChanges, frozen=True):
    """A change of an app."""

    type: str | UnsetType = UNSET
    requests_per_minute: int | UnsetType | None = UNSET
    max_tables: int | UnsetType | None = UNSET
    max_bytes: int | UnsetType | None = UNSET


class TableChange(_FieldChanges, frozen=True):
    """A change of a table."""

    minute_limit: int | UnsetType | None = UNSET


class TokenRecord(Struct, frozen=True):
    """The pointer from a token to its app environment."""

    environment: Environment


class ReclaimRecord(Struct, frozen=True):
    """The intent to give back the space of a table of this app.

    `environment` is None if version 0.2.0 found the intent corrupt, and no app with the table. If
    `is_purged`, the first purge is done, and the second one is due after a wait, of which `waited_ms` have
    passed. Version 0.2.0 also writes a checksum, `seal`, which is ignored.
    """

    environment: Environment | None
    is_purged: bool = False
    waited_ms: int = 0


class RetentionRecord(Struct, frozen=True):
    """The longest time for which any replica was ever configured to cache bindings."""

    max_ms: int = field(name="longest_ms")


class LeaseRecord(Struct, frozen=True):
    """The holder of a lease. It changes `turn` at each renewal, so that the record has a new version.

    Version 0.2.0 also writes its progress in reclaiming, `walk`, which is ignored.
    """

    holder: str
    turn: int


_KINDS: dict[str, type[Struct]] = {
    APPS: AppRecord,
    TOKENS: TokenRecord,
    RECLAIMS: ReclaimRecord,
    RETENTION: RetentionRecord,
    LEASE: LeaseRecord,
    SWEEPING: LeaseRecord,
}


def app_name(environment: Environment) -> str:
    """Returns the name of the app's record; org, app and env contain no slash."""
    return f"{APPS}{environment}"


def environment_in(name: str) -> Environment | None:
    """Returns the app environment whose document has this name; None for other names."""
    parts = name.removeprefix(APPS).split("/")
    return Environment(*parts) if name.startswith(APPS) and len(parts) == 3 else None


def token_digest_in(name: str) -> bytes | None:
    """Returns the digest of the token whose pointer has this name; None for other names."""
    if not name.startswith(TOKENS):
        return None
    try:
        return bytes.fromhex(name.removeprefix(TOKENS))
    except ValueError:
        return None


def token_name(sha256: str) -> str:
    """Returns the name of a token's pointer."""
    return f"{TOKENS}{sha256}"


def reclaim_name(table_id: str) -> str:
    """Returns the name of a table's intent."""
    return f"{RECLAIMS}{table_id}"


def kind_of(name: str) -> type[Struct]:
    """Returns the type of document that a record of this name holds."""
    return next(kind for prefix, kind in _KINDS.items() if name.startswith(prefix))


def decode(name: str, record: Record, kind: type[Document]) -> Document:
    """Returns the document in a record. Raises CorruptEntry, also for the document of another app."""
    try:
        document = msgspec.json.decode(record.document, type=kind)
    except (ValueError, RecursionError):  # DecodeError, or UnicodeDecodeError
        raise CorruptEntry("a directory record cannot be read") from None
    if isinstance(document, AppRecord) and app_name(document.environment) != name:
        raise CorruptEntry("a directory record has the name of another one")
    return document


encode = msgspec.json.encode
