"""Lists of apps, declared and managed in one order, and of their organizations, one page at a time.

The order is that of the record names, so the apps of an organization are adjacent and a page can begin
anywhere (D157). The cost of a page does not depend on the number of apps before or after it. If most apps of
a page are hidden from the caller, the page ends early and costs no more than others (D172).
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from itertools import groupby, islice
from typing import Generic, TypeVar

from msgspec import Struct

from backends.interface import NamedRecord, Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.records import APPS, AppRecord

_RECORDS_PER_READ = 100
"""Maximum records per read: Redis serves no call while it reads them, nor this process while it parses
them."""

_READS = 1
"""Reads of all lists in progress. More would queue in the store, ahead of those of calls."""

_NAMES_PER_PAGE = 50
"""Names read per step of a list of organizations: the maximum cost of one organization."""

_HIDDEN_READS = 5
"""Maximum number of reads for one page of apps beyond those for its limit, to get past hidden apps."""

_ORG_STEPS = 100
"""Maximum number of reads for one page of organizations, unless its limit is higher."""

_AFTER_SLASH = "0"
"""The character after the slash: every name that begins with `acme/` sorts before `acme0`."""

_ORG = re.compile(rf"{APPS}([A-Za-z0-9][A-Za-z0-9._-]*)/")


Listed = TypeVar("Listed")

IsShown = Callable[[str], bool]
"""Returns whether the caller may see the app or organization of this name."""


class Listing(Struct, Generic[Listed], frozen=True):
    """The items found. `reached` is the position up to which records were read, if more may follow."""

    found: Sequence[Listed]
    reached: str | None


class DirectoryPages:
    """Pages of apps and organizations. All methods raise BackendError."""

    def __init__(self, declared: DeclaredApps, records: RecordStore, corrupt: CorruptRecords) -> None:
        self._declared = declared
        self._records = records
        self._corrupt = corrupt
        self._reads = asyncio.Semaphore(_READS)

    async def apps(self, org: str, after: str, limit: int, is_shown: IsShown) -> Listing[AppRecord]:
        """Returns at most `limit` visible apps of an organization.

        `after` names an environment (`app/env`) or an app (`app`): the page begins after it, or after all of
        its environments. A declared app takes precedence over a managed one of its name. Corrupt records are
        left out (D135).
        """
        prefix = f"{APPS}{org}/"
        position = prefix + (after if "/" in after else after + _AFTER_SLASH) if after else ""
        apps: list[AppRecord] = []
        for size in _reads(limit):
            managed = await self._page(prefix, position, size)
            found = dict(managed) | dict(self._declared.page(prefix, position, size))
            names = sorted(found)[:size]
            named = [(name[len(prefix) :].partition("/")[0], name, found[name]) for name in names]
            apps += await self._readable(named, is_shown)
            if len(names) < size or len(apps) >= limit:
                return Listing(apps[:limit], None)
            position = names[-1]
        return Listing(apps, position[len(prefix) :])

    async def _readable(
        self, named: Sequence[tuple[str, str, Record | AppRecord]], is_shown: IsShown
    ) -> list[AppRecord]:
        """Decodes the visible apps that are not corrupt, given app name, record name and record of each."""
        apps = []
        for app, name, each in named:
            with suppress(CorruptRecord):
                if is_shown(app):
                    apps.append(
                        self._corrupt.decode(name, each, AppRecord) if isinstance(each, Record) else each
                    )
            await asyncio.sleep(0)
        return apps

    async def _page(self, prefix: str, after: str, limit: int) -> Sequence[NamedRecord]:
        async with self._reads:
            return await self._records.page(prefix, after=after, limit=limit)

    async def organizations(self, after: str, limit: int, is_shown: IsShown) -> Listing[str]:
        """Returns at most `limit` visible organizations that have an app, after `after` if given."""
        managed = await self._managed_organizations(after, limit, is_shown)
        reached = managed.reached
        declared = await self._declared_organizations(after, reached, limit, is_shown)
        both = merge(managed.found, declared, key=lambda org: f"{org}/")
        found = list(islice((org for org, _ in groupby(both)), limit))
        return Listing(found, reached if len(found) < limit else None)

    async def _declared_organizations(
        self, after: str, reached: str | None, limit: int, is_shown: IsShown
    ) -> list[str]:
        """Returns at most `limit` visible organizations of declared apps, after `after`, up to `reached`."""
        found: list[str] = []
        for org in self._declared.organizations(after):
            if len(found) == limit or (reached is not None and f"{org}/" > f"{reached}/"):
                break
            if is_shown(org):
                found.append(org)
            await asyncio.sleep(0)
        return found

    async def _managed_organizations(self, after: str, limit: int, is_shown: IsShown) -> Listing[str]:
        """Reads a few record names, skips to the end of the last organization in them, and repeats."""
        position = f"{APPS}{after}{_AFTER_SLASH}" if after else ""
        found: list[str] = []
        reached = after
        for _ in range(max(limit, _ORG_STEPS)):
            page = await self._page(APPS, position, _NAMES_PER_PAGE)
            orgs = [match[1] for name, _ in page if (match := _ORG.match(name))]
            found += [org for org, _ in groupby(orgs) if is_shown(org)]
            if len(page) < _NAMES_PER_PAGE:
                return Listing(found, None)
            reached = orgs[-1] if orgs else reached
            position = f"{APPS}{orgs[-1]}{_AFTER_SLASH}" if orgs else page[-1][0]
            if len(found) >= limit:
                break
            await asyncio.sleep(0)
        return Listing(found, reached)


def _reads(limit: int) -> Iterator[int]:
    """Yields the sizes of the reads for one page of apps: its limit first, then those past hidden apps."""
    whole, rest = divmod(limit, _RECORDS_PER_READ)
    yield from [_RECORDS_PER_READ] * whole
    yield from [rest] * (rest > 0)
    yield from [_RECORDS_PER_READ] * _HIDDEN_READS
