"""The commands and their arguments, as one table of parsers."""

import argparse
import json
import re
from collections.abc import Mapping

from gateway import __version__
from gateway.cli.parsers import Commands, Parser
from gateway.cli.usage import duration_ms, instant_ms
from gateway.domain.rules import DEFAULT_ENV, SUPPORTED_APP_TYPES

DEFAULT_URL = "http://127.0.0.1:8081"
_ORG = "name of the organization"
_TYPES = f"app type; tables are available for {', '.join(sorted(SUPPORTED_APP_TYPES))}"


def parse_arguments(argv: list[str], environ: Mapping[str, str]) -> argparse.Namespace:
    """Returns the command (`command`, `action`) with its arguments. Raises CommandFailed."""
    parser = Parser(prog="kvs-gateway", description="A multi-tenant key-value HTTP gateway.")
    shown = json.dumps({"version": __version__})
    parser.add_argument("--version", action="version", version=shown, help="print the version")
    commands = Commands(parser, "command")
    serve = commands.add("serve", "run the gateway")
    check = commands.add("check", "report every mistake in a configuration")
    for command in (serve, check):
        command.add_argument("--config", required=True, metavar="FILE", help="configuration file (YAML)")
    check.add_argument(
        "--without-files",
        action="store_true",
        help="skip checks of secret and certificate files (for CI)",
    )
    _add_dev(commands.add("dev", "run a gateway for development, in memory and without a configuration file"))
    commands.add("version", "print the version")
    shared = _shared(environ)
    whoami = commands.add("whoami", "show the owner and the permissions of the control token", shared)
    whoami.set_defaults(action="show")
    commands.group("orgs").add("list", "list all organizations that have apps", shared)
    _add_apps(commands.group("apps"), shared)
    _add_tables(commands.group("tables"), shared)
    _add_credentials(commands.group("credentials"), shared)
    _add_usage(commands.add("usage", "report the usage of tenants in a period, from Prometheus"))
    return parser.parse_args(argv)


def _add_dev(parser: Parser) -> None:
    parser.add_argument("--unsigned", action="store_true", help="accept unsigned requests")
    parser.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="port for the data listener; the others pick free ports",
    )
    parser.add_argument(
        "--print-config", action="store_true", help="print the configuration in use, with every key, and exit"
    )


def _shared(environ: Mapping[str, str]) -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument(
        "--url",
        default=environ.get("KVS_CONTROL_URL"),
        help=f"URL of the control listener (default: KVS_CONTROL_URL, else {DEFAULT_URL})",
    )
    return parser


def _add_apps(actions: Commands, shared: Parser) -> None:
    register = actions.add(
        "register",
        "register an app, or update the given fields of an existing one",
        shared,
        _app(),
        _limits(),
    )
    register.add_argument("--type", required=True, help=_TYPES)
    change = actions.add("set", "update the given fields of an app", shared, _app(), _limits())
    change.add_argument("--type", default=argparse.SUPPRESS, help=_TYPES)
    listing = actions.add("list", "list an organization's apps", shared)
    listing.add_argument("--org", required=True, help=_ORG)
    for name, text in (
        ("show", "show an app"),
        ("suspend", "refuse all requests of an app until it is resumed"),
        ("resume", "serve the requests of a suspended app again"),
    ):
        actions.add(name, text, shared, _app())
    remove = actions.add("remove", "remove an app, its tables and their entries", shared, _app())
    remove.add_argument("--yes", action="store_true", required=True, help="confirm that the data is lost")


def _add_tables(actions: Commands, shared: Parser) -> None:
    actions.add("list", "list an app's tables", shared, _app())
    actions.add("show", "show a table", shared, _app(), _table())
    actions.add("stats", "count the entries of a table, and their bytes", shared, _app(), _table())
    change = actions.add("set", "change the limit of a table", shared, _app(), _table())
    _add_limit(
        change,
        "--minute-limit",
        "requests per minute, or default to use the app limit",
        required=True,
    )
    issuing = (shared, _app(), _table(), _format())
    create = actions.add("create", "create a table and print its token", *issuing)
    create.add_argument(
        "--if-missing",
        action="store_true",
        help="succeed if the table exists, without changing it or printing its token",
    )
    create.add_argument(
        "--minute-limit",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="requests per minute (default: the app limit)",
    )
    rotate = actions.add("rotate", "issue a new token for a table and print it", *issuing)
    rotate.add_argument(
        "--overlap-seconds",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="time for which the old token stays valid (default: directory.rotation_overlap_seconds)",
    )
    _add_upgrade(actions.add("upgrade", "move tables of version 0.2 to the layout of this one", shared))
    delete = actions.add("delete", "delete a table", shared, _app(), _table())
    delete.add_argument("--yes", action="store_true", required=True, help="confirm that the data is lost")


def _add_upgrade(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="upgrade the tables of all organizations")
    which.add_argument("--org", help="upgrade the tables of this organization")
    parser.add_argument("--app", help="upgrade the tables of this app only")
    parser.add_argument("--env", help=f"environment of that app (default {DEFAULT_ENV})")
    parser.add_argument("--name", help="upgrade this table of that app only")


def _add_credentials(actions: Commands, shared: Parser) -> None:
    issue = actions.add("issue", "issue session credentials in the format of credential_process", shared)
    issue.add_argument("--role", required=True, metavar="ARN", help="role that the credentials are for")
    issue.add_argument(
        "--ttl",
        type=int,
        metavar="SECONDS",
        help="lifetime (default 3600, or the configured maximum if that is less)",
    )
    issue.add_argument("--org", help="bind the credentials to an app of this organization")
    issue.add_argument("--app", help="bind the credentials to this app")
    issue.add_argument("--env", help=f"environment of that app (default {DEFAULT_ENV})")


def _add_usage(parser: Parser) -> None:
    parser.add_argument(
        "--prometheus",
        required=True,
        metavar="URL",
        help="Prometheus URL (bearer token from KVS_PROMETHEUS_TOKEN)",
    )
    for option, text in (
        ("--from", "start of the period: an RFC 3339 time, or a date (midnight UTC)"),
        ("--to", "end of the period (inclusive), in the same form"),
    ):
        name = f"{option[2:]}_ms"
        parser.add_argument(option, required=True, type=instant_ms, dest=name, metavar="TIME", help=text)
    parser.add_argument(
        "--match",
        default="",
        metavar="MATCHERS",
        help="""further label matchers, e.g. 'org="acme"'""",
    )
    parser.add_argument(
        "--lookback",
        type=duration_ms,
        default="30d",
        dest="lookback_ms",
        metavar="DURATION",
        help="how far before the period to search for earlier values (default 30d)",
    )
    parser.add_argument("--format", choices=("json", "csv"), default="json", help="output (default json)")


def _app() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument("--org", required=True, help=_ORG)
    parser.add_argument("--app", required=True, help="name of the app")
    parser.add_argument("--env", default=DEFAULT_ENV, help=f"environment of the app (default {DEFAULT_ENV})")
    return parser


def _limits() -> Parser:
    parser = Parser(add_help=False)
    for option, of in (
        ("--requests-per-minute", "requests per minute of the app"),
        ("--max-tables", "maximum number of tables"),
        ("--max-bytes", "maximum size of all entries, in bytes of keys and values"),
    ):
        _add_limit(parser, option, f"{of}, or default to use the configured one", required=False)
    return parser


def _add_limit(parser: Parser, option: str, text: str, *, required: bool) -> None:
    parser.add_argument(
        option, type=_limit, default=argparse.SUPPRESS, required=required, metavar="N|default", help=text
    )


def _limit(text: str) -> int | None:
    """Returns the limit, or None for `default`. Raises ArgumentTypeError."""
    if text == "default":
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or default, not {text!r}") from None


def _port(text: str) -> int:
    """Returns the port. Raises ArgumentTypeError."""
    if re.fullmatch("[0-9]{1,5}", text) and 1 <= int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, not {text!r}")


def _table() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument("--name", required=True, help="name of the table")
    return parser


def _format() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument(
        "--format",
        choices=("json", "env", "k8s-secret"),
        default="json",
        help="output: JSON (default), export lines for a shell, or a Kubernetes Secret",
    )
    return parser
