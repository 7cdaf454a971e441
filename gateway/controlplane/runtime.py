"""Apps and tables as JSON, and the variables that an app's functions get at run time."""

from typing import Any

from msgspec import Struct

from gateway.directory.records import AppRecord, TableRecord
from gateway.domain.answers import iso_instant


class Runtime(Struct, frozen=True):
    """Settings that all apps of a region share."""

    public_url: str
    region: str
    variable_prefix: str
    default_limit: int
    default_max_tables: int
    default_max_bytes: int | None

    def token_variable(self, table_name: str) -> str:
        """Returns the name of the variable with a table's token."""
        return f"{self.variable_prefix}_KVS_TOKEN_{table_name.upper()}"

    def variables(self, table_name: str, token: str) -> dict[str, str]:
        """Returns the variables that a function needs to use a table."""
        return {
            f"{self.variable_prefix}_KVS_URL": self.public_url,
            f"{self.variable_prefix}_KVS_REGION": self.region,
            self.token_variable(table_name): token,
        }

    def describe_app(self, app: AppRecord) -> dict[str, Any]:
        """Describes an app with its effective limits."""
        return {
            "id": app.environment.app,
            "name": app.environment.app,
            "org_id": app.environment.org,
            "app_id": app.environment.app,
            "env_id": app.environment.env,
            "type": app.type,
            "status": "active" if app.active else "inactive",
            "requests_per_minute": self._limit_of(app),
            "max_tables": self.default_max_tables if app.max_tables is None else app.max_tables,
            "max_bytes": self.default_max_bytes if app.max_bytes is None else app.max_bytes,
        }

    def describe_table(self, app: AppRecord, table: TableRecord) -> dict[str, Any]:
        """Describes a table with its effective limit, without its token."""
        return {
            "id": table.id,
            "org_id": app.environment.org,
            "app_id": app.environment.app,
            "env_id": app.environment.env,
            "name": table.name,
            "status": "active",
            "kvs_url": self.public_url,
            "env_var_name": self.token_variable(table.name),
            "token_last_four": table.token_last_four,
            "minute_limit": self.limit_of_table(app, table),
            "disabled_at": None,
            "created_at": iso_instant(table.created_at_ms),
            "updated_at": iso_instant(table.updated_at_ms),
        }

    def limit_of_table(self, app: AppRecord, table: TableRecord) -> int:
        """Returns the effective limit of a table."""
        limit = self._limit_of(app)
        return limit if table.minute_limit is None else min(limit, table.minute_limit)

    def _limit_of(self, app: AppRecord) -> int:
        return app.requests_per_minute or self.default_limit
