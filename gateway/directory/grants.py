"""Makes bindings, and the tables in the store, from the documents of apps."""

from sys import intern

from backends.interface import Keyspace
from backends.tables import Budget, Charges, Table
from gateway.directory.records import AppRecord, TableRecord
from gateway.domain.model import Binding, Environment, Grant, TenantLabels
from gateway.domain.rules import WINDOW_MS


def home_of(environment: Environment) -> str:
    """Returns the home of an app environment's tables, which is also the bucket of its rate limit.

    Buckets of apps and tables never collide: a table id contains no slash, an app's name does.
    """
    return str(environment)


def tables_of(app: AppRecord, default_max_bytes: int | None) -> list[Table]:
    """Returns all tables of an app, as the store knows them."""
    return [table_of(app, table, default_max_bytes) for table in app.tables]


def table_of(app: AppRecord, table: TableRecord, default_max_bytes: int | None) -> Table:
    """Returns a table with the storage limit of its app."""
    max_bytes = default_max_bytes if app.max_bytes is None else app.max_bytes
    return Table(home_of(app.environment), Keyspace(table.id), max_bytes)


def bind(
    app: AppRecord,
    table: TableRecord,
    default_limit: int,
    default_max_bytes: int | None = None,
    *,
    valid_until_ms: int | None = None,
) -> Binding:
    """Returns the binding of a token of `table`."""
    environment, limit = app.environment, table.minute_limit
    of_app = Budget(home_of(environment), app.requests_per_minute or default_limit)
    return Binding(
        environment=environment,
        app_type=intern(app.type),
        active=app.active,
        grant=Grant(
            table_of(app, table, default_max_bytes),
            Charges((of_app,) if limit is None else (Budget(table.id, limit), of_app), WINDOW_MS),
            TenantLabels(environment.org, environment.app, environment.env, table.name),
        ),
        valid_until_ms=valid_until_ms,
    )


def binding_of(
    app: AppRecord, sha256: str, default_limit: int, default_max_bytes: int | None
) -> Binding | None:
    """Returns the binding of the token with this digest, if a table of the app has it (also retiring)."""
    for table in app.tables:
        if table.token_sha256 == sha256:
            return bind(app, table, default_limit, default_max_bytes)
        for token in table.retiring:
            if token.sha256 == sha256:
                end_ms = token.valid_until_ms
                return bind(app, table, default_limit, default_max_bytes, valid_until_ms=end_ms)
    return None
