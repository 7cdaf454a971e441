"""Forms of the control listener's answers, which are checked before anything is printed.

The forms are those that a gateway sends, with its own rules of names and tokens. Further fields are allowed,
so that a newer gateway can add some.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from gateway.config.settings import Url
from gateway.controlplane.runtime import Runtime
from gateway.directory.tokens import is_well_formed
from gateway.domain.rules import (
    AccessKeyId,
    AppType,
    Name,
    Region,
    TableName,
    VariablePrefix,
    is_ambiguous_prefix,
)

MAX_LEVELS = 6
"""Deepest nesting of an answer; a gateway sends four levels."""

_PublicUrl = Annotated[Url, Meta(max_length=2048)]
_Instant = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,16}Z\Z")]
_Credential = Annotated[str, Meta(pattern=r"^[!-~]{1,8192}\Z")]


_Number = Annotated[int, Meta(ge=0, le=10**15)]


class NotExpected(Exception):
    """The answer is not one of a gateway."""


class Organization(Struct, frozen=True):
    id: Name
    name: str

    @property
    def position(self) -> str:
        """Position in the order of the list."""
        return f"{self.id}/"


class App(Struct, frozen=True):
    org_id: Name
    app_id: Name
    env_id: Name
    type: AppType
    status: str
    requests_per_minute: int
    max_tables: int
    max_bytes: int | None = None

    @property
    def position(self) -> str:
        """Position in the order of the list."""
        return f"{self.app_id}/{self.env_id}"


class Table(Struct, frozen=True):
    id: str
    org_id: Name
    app_id: Name
    env_id: Name
    name: TableName
    status: str
    kvs_url: _PublicUrl
    env_var_name: Annotated[str, Meta(max_length=80)]
    token_last_four: str | None
    minute_limit: int
    created_at: str | None
    updated_at: str | None


class Upgrade(Struct, frozen=True):
    """A part of an upgrade. The next call sends `cursor`; None if the upgrade is done."""

    done: bool
    moved: _Number
    scanned: _Number
    cursor: Annotated[str, Meta(max_length=512)] | None


class TableStats(Struct, frozen=True):
    entries: int
    bytes: int
    counted_at: str | None
    exact: bool


class IssuedTable(Struct, frozen=True):
    """A table with its new token."""

    table: Table
    token: str
    runtime: dict[str, str]

    def variables(self) -> dict[str, str]:
        """Returns the variables that a gateway sends for this table. Raises NotExpected for any others.

        Their prefix is the server's choice, so it is taken from the answer and checked. The rest of each name
        is fixed, so no server can set a variable that a shell or another program obeys.
        """
        prefix = self.table.env_var_name.removesuffix(f"_KVS_TOKEN_{self.table.name.upper()}")
        sent = Runtime(
            public_url=self.table.kvs_url,
            region=_as(self.runtime.get(f"{prefix}_KVS_REGION"), Region),
            variable_prefix=_as(prefix, VariablePrefix),
            default_limit=0,
            default_max_tables=0,
            default_max_bytes=None,
        )
        variables = sent.variables(self.table.name, self.token)
        is_expected = self.runtime == variables and is_well_formed(self.token.encode())
        if not is_expected or is_ambiguous_prefix(prefix):
            raise NotExpected
        return variables


class Caller(Struct, frozen=True):
    name: str
    allow: list[str]
    orgs: list[str]
    apps: list[str]


class SessionCredentials(Struct, frozen=True):
    """Session credentials in the form of AWS' `credential_process`."""

    version: Literal[1] = field(name="Version")
    access_key_id: AccessKeyId = field(name="AccessKeyId")
    secret_access_key: _Credential = field(name="SecretAccessKey")
    session_token: _Credential = field(name="SessionToken")
    expiration: _Instant = field(name="Expiration")


Form = TypeVar("Form")


def decode(body: bytes) -> Any:
    """Returns the JSON in a body, of bounded depth. Raises NotExpected.

    Integers of more than 4,300 digits are refused, because Python could not print them.
    """
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        raise NotExpected from None
    if not _is_shallow(answer, MAX_LEVELS):
        raise NotExpected
    return answer


def checked(answer: object, form: type[Form]) -> Form:
    """Returns the answer in its form. Raises NotExpected."""
    checked: Form = _as(answer, form)
    return checked


def _as(value: object, rule: Any) -> Any:
    try:
        return msgspec.convert(value, rule)
    except ValueError:
        raise NotExpected from None


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)
