"""Management commands: most are one call of the control listener, a few are two or three."""

import argparse
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gateway.cli.answers import (
    App,
    Caller,
    IssuedTable,
    NotExpected,
    Organization,
    SessionCredentials,
    Table,
    TableStats,
)
from gateway.cli.arguments import DEFAULT_URL
from gateway.cli.calling import CommandFailed, Exit, advise, check_text
from gateway.cli.control_client import ControlClient
from gateway.cli.formats import json_list, json_text, kubernetes_secret, shell_lines
from gateway.cli.upgrading import run_upgrade
from gateway.domain.rules import DEFAULT_ENV

_PER_PAGE = 1000
_TABLES = "/services/kvs/tables"
_APP_FIELDS = ("type", "requests_per_minute", "max_tables", "max_bytes")

_Call = tuple[str, str, dict[str, Any] | None]
"""Method, path and fields of a request."""


def run_management(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """Runs a command and returns its output. Raises CommandFailed."""
    check_text(arguments)
    client = ControlClient(arguments.url or DEFAULT_URL, environ.get("KVS_CONTROL_TOKEN"))
    try:
        return _run(client, arguments)
    except CommandFailed as failure:
        advise(failure, arguments.command, arguments.action)
        if failure.exit_code is Exit.NETWORK and not arguments.url:
            failure.report["detail"] = f"{failure.report['detail']} (KVS_CONTROL_URL is not set)"
        raise


def _run(client: ControlClient, arguments: argparse.Namespace) -> str:
    match arguments.command, arguments.action:
        case "apps", "list":
            path = f"/v1/orgs/{_quoted(arguments.org)}/apps?limit={_PER_PAGE}"
            return json_list(client.pages(App, path))
        case "apps", "register":
            return _register(client, arguments)
        case "apps", "remove":
            return _delete(client, _app_path(arguments))
        case "apps", _:
            return json_text(client.call(App, *_app_call(arguments)).json)
        case "tables", _:
            return _run_tables(client, arguments)
        case "credentials", _:
            issued = client.call(SessionCredentials, "POST", "/v1/credentials", _credential_fields(arguments))
            return json_text(issued.json)
        case "whoami", _:
            return json_text(client.call(Caller, "GET", "/v1/whoami").json)
        case _:
            return json_list(client.pages(Organization, "/v1/orgs"))


def _run_tables(client: ControlClient, arguments: argparse.Namespace) -> str:
    match arguments.action:
        case "upgrade":
            return run_upgrade(client, arguments)
        case "create" if arguments.if_missing:
            return _create_if_missing(client, arguments)
        case "create" | "rotate":
            return _issue(client, arguments)
        case "delete":
            return _delete(client, _table_path(arguments))
        case "list":
            return json_text(client.call(list[Table], "GET", _app_path(arguments, _TABLES)).json)
        case "stats":
            return json_text(client.call(TableStats, "GET", _table_path(arguments, "/stats")).json)
        case "show":
            return json_text(client.call(Table, "GET", _table_path(arguments)).json)
        case _:
            named = _named(arguments, "minute_limit")
            return json_text(client.call(Table, "PATCH", _table_path(arguments), named).json)


def _issue(client: ControlClient, arguments: argparse.Namespace) -> str:
    """Creates a table or rotates its token, and prints the token only as part of an expected answer.

    The variables are checked for every format: scripts also turn the JSON into shell lines.
    """
    issued = client.call(IssuedTable, *_issuing_call(arguments))
    table, names = issued.form.table, (arguments.org, arguments.app, arguments.env, arguments.name)
    try:
        variables = issued.form.variables()
    except NotExpected:
        raise client.unexpected("variables that no gateway sends") from None
    if (table.org_id, table.app_id, table.env_id, table.name) != names:
        raise client.unexpected("another table")
    match arguments.format:
        case "env":
            return shell_lines(variables)
        case "k8s-secret":
            return kubernetes_secret(issued.json["table"], variables)
        case _:
            return json_text(issued.json)


def _delete(client: ControlClient, path: str) -> str:
    client.delete(path)
    return json_text({"done": True})


def _register(client: ControlClient, arguments: argparse.Namespace) -> str:
    """Creates the app, or updates the given fields of an existing one (D177).

    A PUT alone would reset fields that are not given. It is conditional: of two first registrations at the
    same moment one loses, and updates its own fields afterwards.
    """
    path, named = _app_path(arguments), _named(arguments, *_APP_FIELDS)
    try:
        return json_text(client.call(App, "PATCH", path, named).json)
    except CommandFailed as missing:
        if missing.report["error"] != "app_not_found":
            raise
    try:
        return json_text(client.call(App, "PUT", path, named, only_if_new=True).json)
    except CommandFailed as late:
        if late.report["error"] != "app_exists":
            raise
    return json_text(client.call(App, "PATCH", path, named).json)


def _create_if_missing(client: ControlClient, arguments: argparse.Namespace) -> str:
    """Creates the table, or shows the existing one, without a token (D178).

    A script may run this at every deployment, so it never replaces a token. The formats that contain the
    token fail for an existing table: applied without it, they would remove a working token.
    """
    try:
        return _issue(client, arguments)
    except CommandFailed as failure:
        if failure.report["error"] != "table_exists":
            raise
        failure.report["next"] = "`tables rotate` issues and prints a new token"
        if arguments.format != "json":
            raise
        conflict = failure
    try:
        return json_text({"table": client.call(Table, "GET", _table_path(arguments)).json})
    except CommandFailed as failure:
        raise conflict if failure.exit_code is Exit.NOT_FOUND else failure from None


def _app_call(arguments: argparse.Namespace) -> _Call:
    match arguments.action:
        case "set":
            named = _named(arguments, *_APP_FIELDS)
            if not named:
                detail = "give at least one of --type, --requests-per-minute, --max-tables and --max-bytes"
                raise CommandFailed(Exit.INVALID, "usage", detail)
            return "PATCH", _app_path(arguments), named
        case "show":
            return "GET", _app_path(arguments), None
        case action:
            return "POST", _app_path(arguments, f"/{action}"), None


def _issuing_call(arguments: argparse.Namespace) -> _Call:
    if arguments.action == "create":
        return "POST", _app_path(arguments, _TABLES), _named(arguments, "name", "minute_limit")
    return "POST", _table_path(arguments, "/rotate"), _named(arguments, "overlap_seconds")


def _credential_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    fields = {"role": arguments.role}
    if arguments.ttl is not None:
        fields["ttl_seconds"] = arguments.ttl
    if arguments.org or arguments.app or arguments.env:
        fields |= {"org": arguments.org, "app": arguments.app, "env": arguments.env or DEFAULT_ENV}
    return fields


def _named(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Returns the options that were given, by name."""
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def _app_path(arguments: argparse.Namespace, rest: str = "") -> str:
    query = urlencode({"env": arguments.env})
    return f"/v1/orgs/{_quoted(arguments.org)}/apps/{_quoted(arguments.app)}{rest}?{query}"


def _table_path(arguments: argparse.Namespace, rest: str = "") -> str:
    return _app_path(arguments, f"{_TABLES}/{_quoted(arguments.name)}{rest}")


def _quoted(text: str) -> str:
    return quote(text, safe="")
