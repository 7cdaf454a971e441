"""Management commands: each is a call of the control listener, a few are two."""

import argparse
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gateway.cli.arguments import DEFAULT_URL
from gateway.cli.calling import CommandFailed, Exit
from gateway.cli.formats import kubernetes_secret, shell_lines
from gateway.cli.listener import ControlListener
from gateway.cli.unknown import advise
from gateway.domain.rules import DEFAULT_ENV

_PER_PAGE = 1000
_TABLES = "/services/kvs/tables"

_Call = tuple[str, str, dict[str, Any] | None]
"""Method, path and fields."""


def run_management(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """The command's output. Raises CommandFailed."""
    listener = ControlListener(arguments.url or DEFAULT_URL, environ.get("KVS_CONTROL_TOKEN"))
    try:
        answer = _run(listener, arguments)
    except CommandFailed as failure:
        advise(failure, arguments.command, arguments.action)
        if failure.exit_code is Exit.NETWORK and not arguments.url:
            failure.report["message"] = f"{failure.report['message']}; KVS_CONTROL_URL is not set"
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
        raise listener.unexpected() from None


def _run(listener: ControlListener, arguments: argparse.Namespace) -> Any:
    match arguments.command, arguments.action:
        case "apps", "register":
            return _register(listener, arguments)
        case "tables", "create" if arguments.if_missing:
            return _create_if_missing(listener, arguments)
        case "apps", _:
            return listener.ask(*_app_call(arguments))
        case "tables", _:
            return listener.ask(*_table_call(arguments))
        case "credentials", _:
            return listener.ask("POST", "/v1/credentials", _credential_fields(arguments))
        case "whoami", _:
            return listener.ask("GET", "/v1/whoami")
        case _:
            return listener.ask("GET", "/v1/orgs")


def _register(listener: ControlListener, arguments: argparse.Namespace) -> Any:
    """Of an app that exists only what is named is changed, even if it has only just come to exist (D177)."""
    path, named = _app_path(arguments), _named(arguments, "type", "requests_per_minute", "max_tables")
    try:
        return listener.ask("PATCH", path, named)
    except CommandFailed as missing:
        if missing.report["error"] != "app_not_found":
            raise
    try:
        return listener.ask("PUT", path, named, only_if_new=True)
    except CommandFailed as late:
        if late.report["error"] != "app_exists":
            raise
    return listener.ask("PATCH", path, named)


def _create_if_missing(listener: ControlListener, arguments: argparse.Namespace) -> Any:
    """What exists is shown without a token, and in a format that is made of its token not at all (D178)."""
    try:
        return listener.ask(*_table_call(arguments))
    except CommandFailed as failure:
        if failure.report["error"] != "table_exists":
            raise
        failure.report["next"] = "tables rotate gives it a new token, and prints that"
        if arguments.format != "json":
            raise
        conflict = failure
    try:
        return {"table": listener.ask("GET", _table_path(arguments))}
    except CommandFailed as failure:
        raise conflict if failure.exit_code is Exit.NOT_FOUND else failure from None


def _app_call(arguments: argparse.Namespace) -> _Call:
    match arguments.action:
        case "set":
            named = _named(arguments, "type", "requests_per_minute", "max_tables")
            if not named:
                message = "name what is to change: --type, --requests-per-minute, --max-tables"
                raise CommandFailed(Exit.INVALID, "usage", message=message)
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
    """Those of the options that were given."""
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def _app_path(arguments: argparse.Namespace, rest: str = "") -> str:
    query = urlencode({"env": arguments.env})
    return f"/v1/orgs/{_quoted(arguments.org)}/apps/{_quoted(arguments.app)}{rest}?{query}"


def _table_path(arguments: argparse.Namespace, rest: str = "") -> str:
    return _app_path(arguments, f"{_TABLES}/{_quoted(arguments.name)}{rest}")


def _quoted(text: str) -> str:
    return quote(text, safe="")
