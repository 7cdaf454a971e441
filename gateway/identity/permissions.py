"""Permission grants and their scopes. Decisions depend on names alone, never on what exists."""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import translate
from typing import get_args

from msgspec import Struct

from gateway.domain.rules import Permission

EVERY_PERMISSION: tuple[Permission, ...] = get_args(Permission)


class Patterns:
    """Shell-style patterns of names. An empty list matches every name."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        self._any_of = [re.compile(translate(pattern)) for pattern in patterns]

    def match(self, name: str) -> bool:
        """Returns whether a pattern matches the name, case-sensitively."""
        return not self._any_of or any(pattern.match(name) for pattern in self._any_of)


class PermissionGrant(Struct, frozen=True):
    """Permissions on the apps that match `apps` in the organizations that match `orgs`."""

    allow: frozenset[Permission]
    orgs: Patterns
    apps: Patterns

    def covers(self, permission: Permission, target: Sequence[str]) -> bool:
        """Returns whether the grant allows the permission on the target."""
        scopes = zip((self.orgs, self.apps), target, strict=False)
        return permission in self.allow and all(patterns.match(name) for patterns, name in scopes)


def grant_of(allow: str | Collection[str], orgs: Sequence[str], apps: Sequence[str]) -> PermissionGrant:
    """Builds the grant from `allow`, `orgs` and `apps` of the configuration."""
    is_all = allow == "all" or "all" in allow
    allowed = frozenset(each for each in EVERY_PERMISSION if is_all or each in allow)
    return PermissionGrant(allowed, Patterns(orgs), Patterns(apps))


class Identity(Struct, frozen=True):
    """An authenticated caller: the name of a control token, or a subject with its `issuer`."""

    name: str
    grants: tuple[PermissionGrant, ...]
    issuer: str | None = None

    def may(self, permission: Permission, *target: str) -> bool:
        """Returns True if a grant allows it on an app (`org, app`), in an organization (`org`) or anywhere.

        A resource that belongs to no single app has empty names as its target, which only an unbounded scope
        covers.
        """
        return any(grant.covers(permission, target) for grant in self.grants)

    @property
    def allow(self) -> list[Permission]:
        """Permissions that the identity has on at least one target."""
        return [each for each in EVERY_PERMISSION if self.may(each)]

    @property
    def orgs(self) -> list[str]:
        """Patterns of the organizations in all grants; empty means any."""
        return _union(grant.orgs for grant in self.grants)

    @property
    def apps(self) -> list[str]:
        """Patterns of the apps in all grants; empty means any."""
        return _union(grant.apps for grant in self.grants)


def _union(scopes: Iterable[Patterns]) -> list[str]:
    listed = [scope.patterns for scope in scopes]
    if () in listed:
        return []
    return list(dict.fromkeys(pattern for patterns in listed for pattern in patterns))
