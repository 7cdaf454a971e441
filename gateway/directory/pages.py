"""Lists of the directory, a page at a time: declared and managed apps in one order, and their organizations.

The order is that of the records' names, so an organization's apps stand together and a page can begin
anywhere (D165). Nothing here costs more where there are more apps before or behind a page.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from heapq import merge
from itertools import groupby, islice

from backends.interface import Record, RecordStore
from gateway.directory.corrupt import CorruptRecord, CorruptRecords
from gateway.directory.declared import DeclaredApps
from gateway.directory.records import APPS, AppRecord

_APPS_PER_STEP = 100
"""Decoded before other tasks get their turn."""

_NAMES_PER_PAGE = 50
"""What an organization costs at most; so many small ones cost the same together."""

_AFTER_SLASH = "0"
"""The character that follows the slash: what begins with `acme/` stands before `acme0`."""

_ORG = re.compile(rf"{APPS}([A-Za-z0-9][A-Za-z0-9._-]*)/")


class DirectoryPages:
    """Pages of what the directory holds. All methods raise BackendError."""

    def __init__(self, declared: DeclaredApps, records: RecordStore, corrupt: CorruptRecords) -> None:
        self._declared = declared
        self._records = records
        self._corrupt = corrupt

    async def apps(self, org: str, after: str, limit: int) -> Sequence[AppRecord]:
        """The first `limit` (up to `LONGEST_PAGE`) app environments of an organization.

        With `after`, those behind an environment (`app/env`), or behind all of an app (`app`). A declared app
        takes precedence over a managed one of its name (D33). One whose record is corrupt is left out (D135).
        """
        prefix = f"{APPS}{org}/"
        position = prefix + (after if "/" in after else after + _AFTER_SLASH) if after else ""
        apps: list[AppRecord] = []
        while True:
            managed = await self._records.page(prefix, after=position, limit=limit)
            found = dict(managed) | dict(self._declared.page(prefix, position, limit))
            names = sorted(found)[:limit]
            apps += await self._readable([(name, found[name]) for name in names])
            if len(names) < limit or len(apps) >= limit:
                return apps[:limit]
            position = names[-1]

    async def _readable(self, found: Sequence[tuple[str, Record | AppRecord]]) -> list[AppRecord]:
        apps = []
        for number, (name, each) in enumerate(found, 1):
            with suppress(CorruptRecord):
                if isinstance(each, Record):
                    each = self._corrupt.decode(name, each, AppRecord)  # noqa: PLW2901
                apps.append(each)
            if number % _APPS_PER_STEP == 0:
                await asyncio.sleep(0)
        return apps

    async def organizations(self, after: str, limit: int) -> Sequence[str]:
        """The first `limit` organizations after `after` (empty: from the first) that have an app."""
        both = merge(
            await self._managed_organizations(after, limit),
            self._declared.organizations(after),
            key=lambda org: f"{org}/",
        )
        return list(islice((org for org, _ in groupby(both)), limit))

    async def _managed_organizations(self, after: str, limit: int) -> Sequence[str]:
        """At least `limit` if there are so many. From the last one that a page names it goes on behind it."""
        position = f"{APPS}{after}{_AFTER_SLASH}" if after else ""
        found: list[str] = []
        while len(found) < limit:
            page = await self._records.page(APPS, after=position, limit=_NAMES_PER_PAGE)
            orgs = [match[1] for name, _ in page if (match := _ORG.match(name))]
            found += [org for org, _ in groupby(orgs)]
            if len(page) < _NAMES_PER_PAGE:
                break
            position = f"{APPS}{orgs[-1]}{_AFTER_SLASH}" if orgs else page[-1][0]
            await asyncio.sleep(0)
        return found
