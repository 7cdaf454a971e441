"""Routes of the control plane: paths, methods, permissions, and the call that an endpoint receives."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from gateway.controlplane.fields import Fields, checked, parse_environment
from gateway.domain.errors import MethodNotAllowed, NotFound
from gateway.domain.model import Environment
from gateway.domain.rules import Permission
from gateway.identity.permissions import Identity

MAX_AUDIT_CHARACTERS = 256
"""Longest piece of client input in an audit event."""

AuditDetails = dict[str, object]
"""The app environment and the requested change, for the audit event. No token and no secret."""


class ControlCall(Struct, frozen=True):
    """A request that its caller has permission for: variable parts of the path, query, fields of the body.

    `audit` collects the details of the audit event, which is written however the call ends.
    `only_if_new` is `If-None-Match: *` (RFC 9110). `parameters` are further query parameters beside `env`.
    """

    parts: tuple[str, ...]
    query: str
    fields: Fields
    audit: AuditDetails
    caller: Identity
    only_if_new: bool = False
    parameters: tuple[str, ...] = ()

    @property
    def environment(self) -> Environment:
        """The app environment in path and query. Raises InvalidField."""
        return parse_environment(self.parts[0], self.parts[1], self.query, self.parameters)

    def note(self, **details: object) -> None:
        """Adds details to the audit event."""
        self.audit.update(details)

    def named(self, field: str, rule: Any) -> Any:
        """Returns the value of a field, or UNSET if it is absent. Raises InvalidField."""
        return checked(self.fields[field], rule, f"invalid_{field}") if field in self.fields else UNSET

    def optional(self, field: str, rule: Any) -> Any:
        """Returns the value of a field, or None if it is absent or null. Raises InvalidField."""
        return checked(self.fields.get(field), rule | None, f"invalid_{field}")

    def integer(self, field: str, rule: Any) -> int | None:
        """Returns the integer in a field, or None if it is absent or null. Raises InvalidField."""
        value: int | None = checked(self.fields.get(field), rule | None, f"invalid_{field}")
        return value


class CallResult(Struct, frozen=True):
    """The successful result of a call; `fields` are response header fields."""

    status: int
    body: object = None
    fields: tuple[tuple[str, str], ...] = ()


Endpoint = Callable[[ControlCall], Awaitable[CallResult]]
Target = tuple[str, ...]
"""The scope that an action needs permission for: organization and app, organization, or nothing."""


def path_target(parts: tuple[str, ...], _fields: Fields) -> Target:
    """Returns the organization and the app in a path, or fewer if the path has fewer."""
    return parts[:2]


class Action(Struct, frozen=True):
    """The action of a route: its name, its endpoint, and the permission on `target` that it needs, if any.

    `parameters` are the query parameters allowed besides `env`.
    """

    name: str
    needs: Permission | None
    endpoint: Endpoint
    target: Callable[[tuple[str, ...], Fields], Target] = path_target
    parameters: tuple[str, ...] = ()

    def is_open_to(self, caller: Identity, parts: tuple[str, ...], fields: Fields) -> bool:
        """Returns whether the caller has permission, whether or not the target exists."""
        return self.needs is None or caller.may(self.needs, *self.target(parts, fields))


Routes = Sequence[tuple[str, dict[str, Action]]]
"""Path patterns, whose groups are the variable parts, each with its actions by method."""


class Match(Struct, frozen=True):
    """A routed request: its action, the variable parts of the path, the query."""

    action: Action
    parts: tuple[str, ...]
    query: str


class Router:
    """Finds the action of a request."""

    def __init__(self, routes: Routes) -> None:
        self.routes = [(re.compile(pattern), methods) for pattern, methods in routes]

    def find(self, method: str, target: str) -> Match:
        """Matches method and target. Raises NotFound and MethodNotAllowed."""
        path, _, query = target.partition("?")
        for pattern, methods in self.routes:
            match = pattern.fullmatch(path)
            if match is not None:
                if method not in methods:
                    raise MethodNotAllowed(method, ", ".join(methods))
                return Match(methods[method], match.groups(), query)
        raise NotFound
