"""Grants: which permissions somebody has, on which organizations and apps. Nothing here asks what exists."""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import translate
from typing import get_args

from msgspec import Struct

from gateway.domain.rules import Permission

EVERY_PERMISSION: tuple[Permission, ...] = get_args(Permission)


class Patterns:
    """Shell-style patterns of names; none at all match every name."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        self._any_of = [re.compile(translate(pattern)) for pattern in patterns]

    def match(self, name: str) -> bool:
        """Whether one of them matches; upper and lower case are told apart."""
        return not self._any_of or any(pattern.match(name) for pattern in self._any_of)


class Grant(Struct, frozen=True):
    """Some permissions, on the apps that match `apps` in the organizations that match `orgs`."""

    allow: frozenset[Permission]
    orgs: Patterns
    apps: Patterns

    def covers(self, permission: Permission, target: Sequence[str]) -> bool:
        """Whether it allows this on that target."""
        scopes = zip((self.orgs, self.apps), target, strict=False)
        return permission in self.allow and all(patterns.match(name) for patterns, name in scopes)


def grant_of(allow: str | Collection[str], orgs: Sequence[str], apps: Sequence[str]) -> Grant:
    """The grant that `allow`, `orgs` and `apps` of the configuration stand for."""
    is_all = allow == "all" or "all" in allow
    allowed = frozenset(each for each in EVERY_PERMISSION if is_all or each in allow)
    return Grant(allowed, Patterns(orgs), Patterns(apps))


class Identity(Struct, frozen=True):
    """Who calls: the name of a control token, or the subject that an issuer vouches for."""

    name: str
    grants: tuple[Grant, ...]
    issuer: str | None = None

    def may(self, permission: Permission, *target: str) -> bool:
        """Whether a grant allows this on an app (`org, app`), in an organization (`org`), or anywhere (none).

        What belongs to no app, and so to all, has empty names: only a scope without bounds covers it.
        """
        return any(grant.covers(permission, target) for grant in self.grants)

    @property
    def allow(self) -> list[Permission]:
        """The permissions that it has somewhere."""
        return [each for each in EVERY_PERMISSION if self.may(each)]

    @property
    def orgs(self) -> list[str]:
        """Patterns of all organizations on which it may do something; empty for any."""
        return _union(grant.orgs for grant in self.grants)

    @property
    def apps(self) -> list[str]:
        """Patterns of all apps on which it may do something; empty for any."""
        return _union(grant.apps for grant in self.grants)


def _union(scopes: Iterable[Patterns]) -> list[str]:
    listed = [scope.patterns for scope in scopes]
    if () in listed:
        return []
    return list(dict.fromkeys(pattern for patterns in listed for pattern in patterns))
