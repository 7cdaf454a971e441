"""A call of the control plane: its route, its fields, what it answers. Each field is valid or refused."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET, Struct

from gateway.controlplane.errors import InvalidField
from gateway.domain.errors import InvalidJson, MethodNotAllowed, NotFound
from gateway.domain.model import Environment
from gateway.domain.rules import DEFAULT_ENV, Name, Permission
from gateway.identity.permissions import Identity

Fields = dict[str, Any]

MAX_AUDIT_CHARACTERS = 256
"""Characters of what a client states."""

_LONGEST_SHOWN = 40


AuditEvent = dict[str, object]
"""The app environment, and what is asked to be done to it; no secret."""


class ControlCall(Struct, frozen=True):
    """One request that its caller may make: the path's variable parts, the query, the body's fields.

    `audit` is what is known so far of the change that is asked for; it is logged however the call ends (D39).
    `only_if_new`: what is made must not exist (`If-None-Match: *`, RFC 9110). `parameters` are those that the
    query may have beside `env`.
    """

    parts: tuple[str, ...]
    query: str
    fields: Fields
    audit: AuditEvent
    caller: Identity
    only_if_new: bool = False
    parameters: tuple[str, ...] = ()

    @property
    def environment(self) -> Environment:
        """The app environment that path and query name. Raises InvalidField."""
        return parse_environment(self.parts[0], self.parts[1], self.query, self.parameters)

    def note(self, **details: object) -> None:
        """Add to what is known of the change."""
        self.audit.update(details)

    def named(self, field: str, rule: Any) -> Any:
        """The value of a field, or UNSET if it is absent. Raises InvalidField."""
        return checked(self.fields[field], rule, f"invalid_{field}") if field in self.fields else UNSET

    def integer(self, field: str, rule: Any) -> int | None:
        """The integer in a field, or None if it is absent or null. Raises InvalidField."""
        value: int | None = checked(self.fields.get(field), rule | None, f"invalid_{field}")
        return value


class CallResult(Struct, frozen=True):
    """What a call answers; `fields` are of the response."""

    status: int
    body: object = None
    fields: tuple[tuple[str, str], ...] = ()


Endpoint = Callable[[ControlCall], Awaitable[CallResult]]
Target = tuple[str, ...]
"""What an action is done to: an app of an organization, an organization, or nothing in particular."""


def named_in_path(parts: tuple[str, ...], _fields: Fields) -> Target:
    """The organization and the app that a path names, if it names them."""
    return parts[:2]


class Action(Struct, frozen=True):
    """What a route does, the permission that this needs (None: any caller may), and to what it does it.

    `parameters` are those that the query of a path that names an app may have beside `env`.
    """

    name: str
    needs: Permission | None
    endpoint: Endpoint
    target: Callable[[tuple[str, ...], Fields], Target] = named_in_path
    parameters: tuple[str, ...] = ()

    def is_open_to(self, caller: Identity, parts: tuple[str, ...], fields: Fields) -> bool:
        """Whether the caller may; what exists is not looked at."""
        return self.needs is None or caller.may(self.needs, *self.target(parts, fields))


Routes = Sequence[tuple[str, dict[str, Action]]]
"""A pattern of a path, whose groups are its variable parts, and an action per method."""


class Match(Struct, frozen=True):
    """The action that a request asks for, the path's variable parts, the query."""

    action: Action
    parts: tuple[str, ...]
    query: str


class Router:
    """Finds the endpoint of a request."""

    def __init__(self, routes: Routes) -> None:
        self.routes = [(re.compile(pattern), methods) for pattern, methods in routes]

    def find(self, method: str, target: str) -> Match:
        """What is asked for. Raises NotFound and MethodNotAllowed."""
        path, _, query = target.partition("?")
        for pattern, methods in self.routes:
            match = pattern.fullmatch(path)
            if match is not None:
                if method not in methods:
                    raise MethodNotAllowed(method, ", ".join(methods))
                return Match(methods[method], match.groups(), query)
        raise NotFound


def parse_object(body: bytes) -> Fields:
    """The JSON object in a body; an empty body counts as an empty object. Raises InvalidJson."""
    try:
        fields = msgspec.json.decode(body.decode() or "{}")
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not JSON: not UTF-8 at byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise InvalidJson("not a JSON object")
    return fields


def parse_environment(org: str, app: str, query: str, others: Sequence[str] = ()) -> Environment:
    """The app environment that a path and its query name; `env` defaults to production. Raises InvalidField.

    Any parameter but that and `others` is refused: a typing error in `env` would otherwise change production
    (D6).
    """
    parameters = parse_qs(query, keep_blank_values=True)
    envs = parameters.pop("env", [DEFAULT_ENV])
    if unknown := parameters.keys() - others:
        raise unknown_parameter(unknown, "env", *others)
    if len(envs) > 1:
        raise InvalidField("invalid_name", "env: given more than once")
    return Environment(
        checked_name(org, field="org"), checked_name(app, field="app"), checked_name(envs[0], field="env")
    )


def unknown_parameter(names: Iterable[str], *known: str) -> InvalidField:
    """The refusal of a query that has parameters beside the known ones."""
    sent = ", ".join(_shown(name) for name in sorted(names))
    return InvalidField("unknown_parameter", f"unknown parameter {sent}, allowed: {', '.join(known)}")


def checked_name(value: object, rule: Any = Name, *, field: str = "name") -> str:
    """A name of that rule. Raises InvalidField."""
    return str(checked(value, rule, "invalid_name", field=field))


def checked(value: object, rule: Any, code: str, *, field: str | None = None) -> Any:
    """The value, if it is what `rule` (a type of `domain.rules`) says.

    Raises InvalidField with `code`, which names the `field` unless that is given.
    """
    try:
        return msgspec.convert(value, rule)
    except msgspec.ValidationError as error:
        sent = "missing" if value is None else _shown(value)
        wanted = str(error).replace("`", "").replace(r"\\Z", "")
        detail = f"{field or code.removeprefix('invalid_')}: {sent}; {wanted}"
        raise InvalidField(code, detail) from None


def _shown(value: object) -> str:
    """What was sent, unless it is so long that it may be a secret."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{len(text)} characters"
