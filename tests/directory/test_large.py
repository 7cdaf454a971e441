"""A directory with many apps: it is listed less often, and without holding the event loop."""

import asyncio
from typing import Any, cast

import pytest

from backends.clock import SystemClock
from gateway.directory.records import AppRecord, TableRecord
from gateway.domain.model import Environment
from gateway.observability.usage import KnownTables, Usage
from gateway.replica import background


class ListedDirectory:
    """Any number of apps with one table each, read without ever waiting."""

    def __init__(self, apps: int) -> None:
        self.apps = apps
        self.lists = 0

    async def all(self):
        self.lists += 1
        for number in range(self.apps):
            table = TableRecord(id=f"tbl_{number}", name="t", token_sha256=f"{number:064x}")
            yield AppRecord(Environment("o", f"a{number}", "e"), "api", active=True, tables=(table,))


class NoReclaimer:
    async def run(self) -> None:
        """Nothing was deleted."""


def listing_of(directory: ListedDirectory) -> background.DirectoryListing:
    usage = Usage(max_series=100_000, idle_ms=3_600_000, now_ms=SystemClock().monotonic_ms)
    return background.DirectoryListing(cast(Any, directory), KnownTables(usage), cast(Any, NoReclaimer()))


@pytest.mark.parametrize(("apps", "seconds"), [(0, 0.5), (500, 0.5), (5000, 5.0)])
async def test_the_more_apps_there_are_the_longer_the_directory_is_left_alone(monkeypatch, apps, seconds):
    directory = ListedDirectory(apps)
    paused: list[float] = []

    async def sleep(delay: float) -> None:
        if delay:
            paused.append(delay)
            raise asyncio.CancelledError

    monkeypatch.setattr(background.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await listing_of(directory).step()
    assert paused == [seconds]
    assert directory.lists == 1


async def test_others_get_their_turns_while_a_large_directory_is_listed():
    listing = asyncio.create_task(listing_of(ListedDirectory(2000))._note_tables())
    turns = 0
    while not listing.done():
        turns += 1
        await asyncio.sleep(0)
    assert await listing == 2000
    assert turns >= 20
