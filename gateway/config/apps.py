"""Contradictions in `apps`: too many tables, names that occur twice, and malformed tokens."""

from gateway.config.problems import Problems, repeats
from gateway.config.settings import DeclaredTable, Settings
from gateway.directory.tokens import PREFIX, is_well_formed
from gateway.domain.rules import BEARER_TOKEN


def check_apps(settings: Settings, problems: Problems) -> None:
    """Notes every contradiction within and between declared apps."""
    apps = settings.apps
    for index in repeats([(app.org, app.app, app.env) for app in apps]):
        problems.add(f"apps[{index}]", "is declared more than once")
    for app_index, app in enumerate(apps):
        path = f"apps[{app_index}].tables"
        if len(app.tables) > (settings.directory.max_tables if app.max_tables is None else app.max_tables):
            problems.add(path, "has more tables than max_tables")
        for index in repeats([table.name.upper() for table in app.tables]):
            problems.add(f"{path}[{index}].name", "is the name of another table of the app, ignoring case")
        for index, table in enumerate(app.tables):
            _check_token(table, f"{path}[{index}]", problems)


def _check_token(table: DeclaredTable, path: str, problems: Problems) -> None:
    if (table.token is None) == (table.token_sha256 is None):
        problems.add(path, "needs either token or token_sha256")
        return
    if table.token is None:
        return
    token = table.token.encode()
    if token.startswith(PREFIX) and not is_well_formed(token):
        problems.add(f"{path}.token", "begins with kvs_ but does not have the form of a table token")
    if not BEARER_TOKEN.fullmatch(token):
        problems.add(f"{path}.token", "contains a character that a header cannot carry")
