"""The command `tables upgrade`: calls that each move a part of one table, until all tables are upgraded."""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, urlencode

from msgspec import convert

from gateway.cli.answers import App, Organization, Table, Upgrade
from gateway.cli.calling import CommandFailed, Exit
from gateway.cli.control_client import ControlClient
from gateway.cli.formats import json_text
from gateway.domain.rules import DEFAULT_ENV

MAX_CALLS = 1_000_000
"""Calls for one table; each goes through thousands of keys of the store."""

PAUSE_SECONDS = 0.5
"""Pause after the first call for a table: operations that began before it end meanwhile, or fail."""

_PER_PAGE = 1000


class _Place(NamedTuple):
    """A table by its names."""

    org: str
    app: str
    env: str
    table: str


def run_upgrade(client: ControlClient, arguments: argparse.Namespace) -> str:
    """Upgrades the tables that the arguments name, one after another. Raises CommandFailed."""
    _check(arguments)
    upgraded = []
    for place in _places(client, arguments):
        moved = _upgrade(client, place)
        named = {"org_id": place.org, "app_id": place.app, "env_id": place.env, "name": place.table}
        upgraded.append({**named, "moved": moved})
    return json_text(upgraded)


def _check(arguments: argparse.Namespace) -> None:
    for option, of in (("app", "org"), ("env", "app"), ("name", "app")):
        if getattr(arguments, option) and not getattr(arguments, of):
            raise CommandFailed(Exit.INVALID, "usage", f"--{option} needs --{of}")


def _places(client: ControlClient, arguments: argparse.Namespace) -> Iterator[_Place]:
    if arguments.app:
        apps = [(arguments.org, arguments.app, arguments.env or DEFAULT_ENV)]
    else:
        apps = [app for org in _organizations(client, arguments) for app in _apps(client, org)]
    for app in apps:
        if arguments.name:
            yield _Place(*app, arguments.name)
        else:
            tables = client.call(list[Table], "GET", _path(*app)).form
            yield from (_Place(*app, table.name) for table in tables)


def _organizations(client: ControlClient, arguments: argparse.Namespace) -> list[str]:
    if arguments.org:
        return [arguments.org]
    pages = client.pages(Organization, "/v1/orgs")
    return [convert(each, Organization).id for page in pages for each in page]


def _apps(client: ControlClient, org: str) -> list[tuple[str, str, str]]:
    pages = client.pages(App, f"/v1/orgs/{quote(org, safe='')}/apps?limit={_PER_PAGE}")
    apps = [convert(each, App) for page in pages for each in page]
    return [(app.org_id, app.app_id, app.env_id) for app in apps]


def _upgrade(client: ControlClient, place: _Place) -> int:
    """Upgrades a table; returns the number of moved entries."""
    path = _path(place.org, place.app, place.env, f"/{quote(place.table, safe='')}/upgrade")
    cursor: str | None = None
    moved = scanned = 0
    for number in range(MAX_CALLS):
        answer = client.call(Upgrade, "POST", path, {"cursor": cursor}).form
        cursor, moved, scanned = answer.cursor, moved + answer.moved, scanned + answer.scanned
        _show(place, moved, scanned, is_done=answer.done)
        if answer.done:
            return moved
        if number == 0:
            time.sleep(PAUSE_SECONDS)
    raise client.unexpected("an upgrade without an end")


def _show(place: _Place, moved: int, scanned: int, *, is_done: bool) -> None:
    """Shows the progress to people: one line for each table, rewritten as it grows."""
    if sys.stderr.isatty():
        name = f"{place.org}/{place.app}/{place.env} {place.table}"
        line = f"\r{name}: {moved:,} entries moved, {scanned:,} keys of the store looked at"
        sys.stderr.write(line + ("\n" if is_done else ""))
        sys.stderr.flush()


def _path(org: str, app: str, env: str, rest: str = "") -> str:
    of_app = f"/v1/orgs/{quote(org, safe='')}/apps/{quote(app, safe='')}"
    return f"{of_app}/services/kvs/tables{rest}?{urlencode({'env': env})}"
