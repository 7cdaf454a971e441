"""Apps declared in the configuration file: never stored, and replaced as a whole by a reload."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from hashlib import sha256
from itertools import takewhile

from gateway.directory.grants import bind
from gateway.directory.records import AppRecord, app_name
from gateway.domain.model import Environment


class DeclaredApps:
    """Declared apps by environment, and their `bindings` by token digest."""

    def __init__(
        self, apps: Sequence[AppRecord], default_limit: int, default_max_bytes: int | None = None
    ) -> None:
        self.edition = object()
        """Identity of this set of apps: a reload brings another one."""
        self._apps = {app.environment: app for app in apps}
        self._ordered = sorted(apps, key=_name_of)
        self._organizations = sorted({app.environment.org for app in apps}, key=_org_key)
        self.bindings = {
            bytes.fromhex(table.token_sha256): bind(app, table, default_limit, default_max_bytes)
            for app in apps
            for table in app.tables
        }

    def exchange(self, others: "DeclaredApps") -> None:
        """Swaps contents with `others`, effective from the next lookup on."""
        self.__dict__, others.__dict__ = others.__dict__, self.__dict__

    def release(self) -> None:
        """Frees the content item by item, so that other threads are not blocked by one long deallocation."""
        while self._ordered:
            self._ordered.pop()
        while self._apps:
            self._apps.popitem()
        while self.bindings:
            self.bindings.popitem()

    def find(self, environment: Environment) -> AppRecord | None:
        """Returns the declared app, if there is one."""
        return self._apps.get(environment)

    def all(self, org: str | None = None) -> list[AppRecord]:
        """Returns every declared app environment, optionally of one organization."""
        return [app for app in self._apps.values() if org in (None, app.environment.org)]

    def page(self, prefix: str, after: str, limit: int) -> list[tuple[str, AppRecord]]:
        """Returns one page in the order of `RecordStore.page`, by the record names the apps would have."""
        if after:
            start = bisect_right(self._ordered, after, key=_name_of)
        else:
            start = bisect_left(self._ordered, prefix, key=_name_of)
        named = ((_name_of(app), app) for app in self._ordered[start : start + limit])
        return list(takewhile(lambda each: each[0].startswith(prefix), named))

    def organizations(self, after: str) -> list[str]:
        """Returns the organizations that follow `after`, in the order of their apps' record names."""
        start = bisect_right(self._organizations, _org_key(after), key=_org_key) if after else 0
        return self._organizations[start:]


def _name_of(app: AppRecord) -> str:
    return app_name(app.environment)


def _org_key(org: str) -> str:
    return f"{org}/"


def declared_table_id(environment: Environment, table_name: str) -> str:
    """Returns the table's id: the same on every replica and at every start, so its entries persist."""
    return f"decl_{sha256(f'{environment}/{table_name.upper()}'.encode()).hexdigest()[:32]}"
