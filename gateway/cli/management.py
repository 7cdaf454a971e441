"""Management commands: each is one call of the control listener. Variables ready to source or to apply."""

import argparse
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from http.client import HTTPException
from shlex import quote as shell_quoted
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request

import yaml

from gateway.cli.calling import (
    CommandFailed,
    Exit,
    authorization,
    base_address,
    call_directly,
    exit_for_status,
)
from gateway.cli.unknown import advise
from gateway.domain.rules import DEFAULT_ENV

_TIMEOUT_SECONDS = 30
_PER_PAGE = 1000
_NEXT = re.compile(r'<(/v1/[!-~]*)>; rel="next"')
"""On the control listener that was asked: its token goes nowhere else."""


def run_management(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """The command's output. Raises CommandFailed."""
    method, path, body = _call(arguments)
    token = environ.get("KVS_CONTROL_TOKEN")
    try:
        answer, following = _send(arguments.url, token, method, path, body)
    except CommandFailed as failure:
        if method != "GET":
            advise(failure, arguments.command, arguments.action)
        raise
    while following and isinstance(answer, list):
        page, following = _send(arguments.url, token, method, following, None)
        answer += page
    match getattr(arguments, "format", "json"):
        case "env":
            return shell_lines(answer["runtime"])
        case "k8s-secret":
            return kubernetes_secret(answer["table"], answer["runtime"])
        case _:
            return json.dumps(answer, indent=2)


def _call(arguments: argparse.Namespace) -> tuple[str, str, dict[str, Any] | None]:
    """Method, path and fields of the call that a command stands for."""
    match arguments.command:
        case "credentials":
            return "POST", "/v1/credentials", _credential_fields(arguments)
        case "whoami":
            return "GET", "/v1/whoami", None
        case "orgs":
            return "GET", "/v1/orgs", None
        case "tables":
            return _table_call(arguments)
        case _:
            return _app_call(arguments)


def _app_call(arguments: argparse.Namespace) -> tuple[str, str, dict[str, Any] | None]:
    match arguments.action:
        case "register":
            return "PUT", _app_path(arguments), _given(arguments, "type", "requests_per_minute", "max_tables")
        case "list":
            return "GET", f"/v1/orgs/{_quoted(arguments.org)}/apps?limit={_PER_PAGE}", None
        case "show":
            return "GET", _app_path(arguments), None
        case "remove":
            return "DELETE", _app_path(arguments), None
        case action:
            return "POST", _app_path(arguments, f"/{action}"), None


def _table_call(arguments: argparse.Namespace) -> tuple[str, str, dict[str, Any] | None]:
    tables = "/services/kvs/tables"
    if arguments.action == "list":
        return "GET", _app_path(arguments, tables), None
    if arguments.action == "create":
        return "POST", _app_path(arguments, tables), _given(arguments, "name", "minute_limit")
    table = f"{tables}/{_quoted(arguments.name)}"
    if arguments.action == "rotate":
        return "POST", _app_path(arguments, f"{table}/rotate"), _given(arguments, "overlap_seconds")
    return "DELETE", _app_path(arguments, table), None


def _credential_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    fields = {"role": arguments.role}
    if arguments.ttl is not None:
        fields["ttl_seconds"] = arguments.ttl
    if arguments.org or arguments.app or arguments.env:
        fields |= {"org": arguments.org, "app": arguments.app, "env": arguments.env or DEFAULT_ENV}
    return fields


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _app_path(arguments: argparse.Namespace, rest: str = "") -> str:
    query = urlencode({"env": arguments.env})
    return f"/v1/orgs/{_quoted(arguments.org)}/apps/{_quoted(arguments.app)}{rest}?{query}"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _send(
    url: str, token: str | None, method: str, path: str, body: dict[str, Any] | None
) -> tuple[Any, str | None]:
    """The answer, and the path of the next page if it is one of a list. Raises CommandFailed."""
    credentials = authorization(token, "KVS_CONTROL_TOKEN", "invalid_control_token")
    headers = {"Content-Type": "application/json", **credentials}
    data = None if body is None else json.dumps(body).encode()
    try:
        base = base_address(url, "http://host:8081")
        request = Request(base + path, data, headers, method=method)  # noqa: S310 - checked
        with call_directly(request, timeout_seconds=_TIMEOUT_SECONDS) as response:
            text = response.read()
            link = _NEXT.fullmatch(response.headers.get("Link", ""))
        return json.loads(text) if text else {"done": True}, link and link[1]
    except HTTPError as error:
        detail = error.headers.get("x-kvs-error-detail")
        details = {"status": error.code} | ({"detail": detail} if detail else {})
        raise CommandFailed(exit_for_status(error.code), _error_code(error), **details) from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise CommandFailed(Exit.NETWORK, "network", message=str(reason), url=url) from None
    except (HTTPException, ValueError):
        message = "what answers there is not a control listener"
        raise CommandFailed(Exit.GENERAL, "unexpected_answer", message=message, url=url) from None


def _error_code(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return "unexpected_answer"


def shell_lines(variables: Mapping[str, str]) -> str:
    """`export` lines for a POSIX shell."""
    return "\n".join(f"export {name}={shell_quoted(value)}" for name, value in variables.items())


def kubernetes_secret(table: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """A Secret whose keys are the variables, for `envFrom`.

    Its name is the same for every token of a table. It ends with a digest, because names of apps and tables
    may differ in characters that a Secret's name cannot have (D38).
    """
    names = [table["org_id"], table["app_id"], table["env_id"], table["name"]]
    digest = sha256("/".join(names).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9-]", "-", "-".join(names[1:]).lower())
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"kvs-{readable}-{digest}"},
        "type": "Opaque",
        "stringData": dict(variables),
    }
    return yaml.safe_dump(secret, sort_keys=False).rstrip()
