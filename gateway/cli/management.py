"""Management commands: most are one call of the control listener, a few are two or three."""

import argparse
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gateway.cli.arguments import DEFAULT_URL
from gateway.cli.calling import CommandFailed, Exit, advise
from gateway.cli.control_client import ControlClient
from gateway.cli.formats import kubernetes_secret, shell_lines
from gateway.domain.rules import DEFAULT_ENV

_PER_PAGE = 1000
_TABLES = "/services/kvs/tables"

_Call = tuple[str, str, dict[str, Any] | None]
"""Method, path and fields of a request."""


def run_management(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """Runs a command and returns its output. Raises CommandFailed."""
    client = ControlClient(arguments.url or DEFAULT_URL, environ.get("KVS_CONTROL_TOKEN"))
    try:
        answer = _run(client, arguments)
    except CommandFailed as failure:
        advise(failure, arguments.command, arguments.action)
        if failure.exit_code is Exit.NETWORK and not arguments.url:
            failure.report["detail"] = f"{failure.report['detail']} (KVS_CONTROL_URL is not set)"
        raise
    try:
        match getattr(arguments, "format", "json"):
            case "env":
                return shell_lines(answer["runtime"])
            case "k8s-secret":
                return kubernetes_secret(answer["table"], answer["runtime"])
            case _:
                return json.dumps(answer, indent=2)
    except (AttributeError, KeyError, TypeError):
        raise client.unexpected() from None


def _run(client: ControlClient, arguments: argparse.Namespace) -> Any:
    match arguments.command, arguments.action:
        case "apps", "register":
            return _register(client, arguments)
        case "tables", "create" if arguments.if_missing:
            return _create_if_missing(client, arguments)
        case "apps", _:
            return client.call(*_app_call(arguments))
        case "tables", _:
            return client.call(*_table_call(arguments))
        case "credentials", _:
            return client.call("POST", "/v1/credentials", _credential_fields(arguments))
        case "whoami", _:
            return client.call("GET", "/v1/whoami")
        case _:
            return client.call("GET", "/v1/orgs")


def _register(client: ControlClient, arguments: argparse.Namespace) -> Any:
    """Creates the app, or updates the given fields of an existing one (D177).

    A PUT alone would reset fields that are not given. It is conditional: of two first registrations at the
    same moment one loses, and updates its own fields afterwards.
    """
    path, named = _app_path(arguments), _named(arguments, "type", "requests_per_minute", "max_tables")
    try:
        return client.call("PATCH", path, named)
    except CommandFailed as missing:
        if missing.report["error"] != "app_not_found":
            raise
    try:
        return client.call("PUT", path, named, only_if_new=True)
    except CommandFailed as late:
        if late.report["error"] != "app_exists":
            raise
    return client.call("PATCH", path, named)


def _create_if_missing(client: ControlClient, arguments: argparse.Namespace) -> Any:
    """Creates the table, or shows the existing one, without a token (D178).

    A script may run this at every deployment, so it never replaces a token. The formats that contain the
    token fail for an existing table: applied without it, they would remove a working token.
    """
    try:
        return client.call(*_table_call(arguments))
    except CommandFailed as failure:
        if failure.report["error"] != "table_exists":
            raise
        failure.report["next"] = "`tables rotate` issues and prints a new token"
        if arguments.format != "json":
            raise
        conflict = failure
    try:
        return {"table": client.call("GET", _table_path(arguments))}
    except CommandFailed as failure:
        raise conflict if failure.exit_code is Exit.NOT_FOUND else failure from None


def _app_call(arguments: argparse.Namespace) -> _Call:
    match arguments.action:
        case "set":
            named = _named(arguments, "type", "requests_per_minute", "max_tables")
            if not named:
                detail = "give at least one of --type, --requests-per-minute and --max-tables"
                raise CommandFailed(Exit.INVALID, "usage", detail)
            return "PATCH", _app_path(arguments), named
        case "list":
            return "GET", f"/v1/orgs/{_quoted(arguments.org)}/apps?limit={_PER_PAGE}", None
        case "show":
            return "GET", _app_path(arguments), None
        case "remove":
            return "DELETE", _app_path(arguments), None
        case action:
            return "POST", _app_path(arguments, f"/{action}"), None


def _table_call(arguments: argparse.Namespace) -> _Call:
    match arguments.action:
        case "list":
            return "GET", _app_path(arguments, _TABLES), None
        case "create":
            return "POST", _app_path(arguments, _TABLES), _named(arguments, "name", "minute_limit")
        case "show":
            return "GET", _table_path(arguments), None
        case "set":
            return "PATCH", _table_path(arguments), _named(arguments, "minute_limit")
        case "rotate":
            return "POST", _table_path(arguments, "/rotate"), _named(arguments, "overlap_seconds")
        case _:
            return "DELETE", _table_path(arguments), None


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
