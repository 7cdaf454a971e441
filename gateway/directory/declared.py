"""Apps that the configuration file declares: never in the store, replaced as a whole by a reload."""

from collections.abc import Sequence
from hashlib import sha256

from gateway.directory.records import AppRecord, bind
from gateway.domain.model import Environment


class DeclaredApps:
    """The file's apps, by environment, and their `bindings`, by token digest."""

    def __init__(self, apps: Sequence[AppRecord], default_limit: int) -> None:
        self._apps = {app.environment: app for app in apps}
        self.bindings = {
            bytes.fromhex(table.token_sha256): bind(app, table, default_limit)
            for app in apps
            for table in app.tables
        }

    def replace(self, others: "DeclaredApps") -> None:
        """Hold what `others` hold, from the next lookup on."""
        self._apps, self.bindings = others._apps, others.bindings  # noqa: SLF001 - of its own kind

    def find(self, environment: Environment) -> AppRecord | None:
        """The declared app, if it is one."""
        return self._apps.get(environment)

    def all(self, org: str | None = None) -> list[AppRecord]:
        """Every declared app environment, of one organization if named."""
        return [app for app in self._apps.values() if org in (None, app.environment.org)]


def declared_table_id(environment: Environment, table_name: str) -> str:
    """The same for every replica and after every start, so that entries outlive both (D33)."""
    return f"decl_{sha256(f'{environment}/{table_name.upper()}'.encode()).hexdigest()[:32]}"
