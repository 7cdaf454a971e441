"""Apps that the configuration file declares: never in the store, replaced as a whole by a reload."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile

from gateway.directory.records import AppRecord, app_name, bind
from gateway.domain.model import Environment


class DeclaredApps:
    """The file's apps, by environment, and their `bindings`, by token digest."""

    def __init__(self, apps: Sequence[AppRecord], default_limit: int) -> None:
        self.edition = object()
        """Another one whenever they are others."""
        self._apps = {app.environment: app for app in apps}
        self._ordered = sorted(apps, key=_name_of)
        self._organizations = sorted({app.environment.org for app in apps}, key=_place_of)
        self.bindings = {
            bytes.fromhex(table.token_sha256): bind(app, table, default_limit)
            for app in apps
            for table in app.tables
        }

    def exchange(self, others: "DeclaredApps") -> None:
        """Hold what `others` hold, and they what these held, from the next lookup on."""
        self.__dict__, others.__dict__ = others.__dict__, self.__dict__

    def release(self) -> None:
        """Give back what nobody looks up any more, one by one, so that other threads get their turn."""
        while self._ordered:
            self._ordered.pop()
        while self._apps:
            self._apps.popitem()
        while self.bindings:
            self.bindings.popitem()

    def find(self, environment: Environment) -> AppRecord | None:
        """The declared app, if it is one."""
        return self._apps.get(environment)

    def all(self, org: str | None = None) -> list[AppRecord]:
        """Every declared app environment, of one organization if named."""
        return [app for app in self._apps.values() if org in (None, app.environment.org)]

    def page(self, prefix: str, after: str, limit: int) -> list[tuple[str, AppRecord]]:
        """A page of them by the names that records of theirs would have, as `RecordStore.page` reads one."""
        if after:
            start = bisect_right(self._ordered, after, key=_name_of)
        else:
            start = bisect_left(self._ordered, prefix, key=_name_of)
        named = ((_name_of(app), app) for app in self._ordered[start : start + limit])
        return list(takewhile(lambda each: each[0].startswith(prefix), named))

    def organizations(self, after: str) -> list[str]:
        """The organizations that come after `after`, in the order of the names of their apps' records."""
        start = bisect_right(self._organizations, _place_of(after), key=_place_of) if after else 0
        return self._organizations[start:]


def _name_of(app: AppRecord) -> str:
    return app_name(app.environment)


def _place_of(org: str) -> str:
    return f"{org}/"


def declared_table_id(environment: Environment, table_name: str) -> str:
    """The same for every replica and after every start, so that entries outlive both (D33)."""
    return f"decl_{sha256(f'{environment}/{table_name.upper()}'.encode()).hexdigest()[:32]}"
