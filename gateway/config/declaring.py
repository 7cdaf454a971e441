"""Apps declared in the file, as the records that managed apps have in the store."""

from hashlib import sha256

from gateway.config.settings import DeclaredAppSettings, Settings
from gateway.directory.declared import declared_table_id
from gateway.directory.records import AppRecord, TableRecord
from gateway.domain.model import Environment


def declared_apps(settings: Settings) -> list[AppRecord]:
    """All of them, in the order of the file. Of a token only the digest goes on."""
    return [_record(app) for app in settings.apps]


def _record(app: DeclaredAppSettings) -> AppRecord:
    environment = Environment(app.org, app.app, app.env)
    return AppRecord(
        environment=environment,
        type=app.type,
        active=app.status == "active",
        requests_per_minute=app.requests_per_minute,
        max_tables=app.max_tables,
        tables=tuple(
            TableRecord(
                id=declared_table_id(environment, table.name),
                name=table.name,
                token_sha256=table.token_sha256 or sha256((table.token or "").encode()).hexdigest(),
                token_last_four=None if table.token is None else table.token[-4:],
                minute_limit=table.minute_limit,
            )
            for table in app.tables
        ),
    )
