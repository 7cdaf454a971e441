"""Lists of the directory, a page at a time: declared and managed apps in one order, and their organizations.

The order is that of the records' names, so an organization's apps stand together and a page can begin
anywhere (D157). Nothing here costs more where there are more apps before or behind a page, and a page
of which most is hidden from who asks ends early, so that it costs no more than others (D172).
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import merge
from itertools import groupby, islice
from typing import Generic, TypeVar

from msgspec import Struct

from backends.interface import LONGEST_PAGE, Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.records import APPS, AppRecord

_APPS_PER_STEP = 100
"""Decoded before other tasks get their turn."""

_NAMES_PER_PAGE = 50
"""What an organization costs at most; so many small ones cost the same together."""

_STEPS = 4
"""In which a page of apps is read at most: a step for what is asked for, the others beyond what is hidden."""

_ORG_STEPS = 100
"""In which a page of organizations is read, unless it may have more of them than that."""

_AFTER_SLASH = "0"
"""The character that follows the slash: what begins with `acme/` stands before `acme0`."""

_ORG = re.compile(rf"{APPS}([A-Za-z0-9][A-Za-z0-9._-]*)/")


Listed = TypeVar("Listed")

IsShown = Callable[[str], bool]
"""Whether who asks may see what has that name."""


class Part(Struct, Generic[Listed], frozen=True):
    """What was found. `reached` is the place up to which was looked, if there may be more behind it."""

    found: Sequence[Listed]
    reached: str | None


class DirectoryPages:
    """Pages of what the directory holds. All methods raise BackendError."""

    def __init__(self, declared: DeclaredApps, records: RecordStore, corrupt: CorruptRecords) -> None:
        self._declared = declared
        self._records = records
        self._corrupt = corrupt

    async def apps(self, org: str, after: str, limit: int, is_shown: IsShown) -> Part[AppRecord]:
        """At most `limit` (up to `LONGEST_PAGE`) apps of an organization that are shown.

        With `after`, those behind an environment (`app/env`), or behind all of an app (`app`). A declared app
        takes precedence over a managed one of its name (D33). One whose record is corrupt is left out (D135).
        """
        prefix = f"{APPS}{org}/"
        position = prefix + (after if "/" in after else after + _AFTER_SLASH) if after else ""
        apps: list[AppRecord] = []
        for step in range(_STEPS):
            size = limit if step == 0 else LONGEST_PAGE
            managed = await self._records.page(prefix, after=position, limit=size)
            found = dict(managed) | dict(self._declared.page(prefix, position, size))
            names = sorted(found)[:size]
            named = [(name[len(prefix) :].partition("/")[0], name, found[name]) for name in names]
            apps += await self._readable(named, is_shown)
            if len(names) < size or len(apps) >= limit:
                return Part(apps[:limit], None)
            position = names[-1]
        return Part(apps, position[len(prefix) :])

    async def _readable(
        self, named: Sequence[tuple[str, str, Record | AppRecord]], is_shown: IsShown
    ) -> list[AppRecord]:
        """Those that are shown and not corrupt, of apps with their names and their records' names."""
        apps = []
        for number, (app, name, each) in enumerate(named, 1):
            with suppress(CorruptRecord):
                if is_shown(app):
                    apps.append(
                        self._corrupt.decode(name, each, AppRecord) if isinstance(each, Record) else each
                    )
            if number % _APPS_PER_STEP == 0:
                await asyncio.sleep(0)
        return apps

    async def organizations(self, after: str, limit: int, is_shown: IsShown) -> Part[str]:
        """At most `limit` organizations that have an app and are shown, behind `after` if it is given."""
        managed = await self._managed_organizations(after, limit, is_shown)
        reached = managed.reached
        declared = (
            org
            for org in self._declared.organizations(after)
            if is_shown(org) and (reached is None or f"{org}/" <= f"{reached}/")
        )
        both = merge(managed.found, declared, key=lambda org: f"{org}/")
        found = list(islice((org for org, _ in groupby(both)), limit))
        return Part(found, reached if len(found) < limit else None)

    async def _managed_organizations(self, after: str, limit: int, is_shown: IsShown) -> Part[str]:
        """Some, or all. From the last one that a page of names has it goes on behind it."""
        position = f"{APPS}{after}{_AFTER_SLASH}" if after else ""
        found: list[str] = []
        reached = after
        for _ in range(max(limit, _ORG_STEPS)):
            page = await self._records.page(APPS, after=position, limit=_NAMES_PER_PAGE)
            orgs = [match[1] for name, _ in page if (match := _ORG.match(name))]
            found += [org for org, _ in groupby(orgs) if is_shown(org)]
            if len(page) < _NAMES_PER_PAGE:
                return Part(found, None)
            reached = orgs[-1] if orgs else reached
            position = f"{APPS}{orgs[-1]}{_AFTER_SLASH}" if orgs else page[-1][0]
            if len(found) >= limit:
                break
            await asyncio.sleep(0)
        return Part(found, reached)
