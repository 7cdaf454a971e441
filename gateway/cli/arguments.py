"""The commands and their arguments, as one table of parsers."""

import argparse
import json
from collections.abc import Mapping

from gateway import __version__
from gateway.cli.parsers import Commands, Parser
from gateway.cli.usage import duration_ms, instant_ms
from gateway.domain.rules import DEFAULT_ENV

DEFAULT_URL = "http://127.0.0.1:8081"


def parse_arguments(argv: list[str], environ: Mapping[str, str]) -> argparse.Namespace:
    """The command (`command`, `action`) and its arguments. Raises CommandFailed."""
    parser = Parser(prog="kvs-gateway", description="An authenticated key-value edge over pluggable stores.")
    shown = json.dumps({"version": __version__})
    parser.add_argument("--version", action="version", version=shown, help="print the version")
    commands = Commands(parser, "command")
    serve = commands.add("serve", "run the gateway")
    check = commands.add("check", "report every mistake in a configuration")
    for command in (serve, check):
        command.add_argument("--config", required=True, metavar="FILE")
    check.add_argument(
        "--without-files",
        action="store_true",
        help="where the secrets and certificates that it names are not",
    )
    _add_dev(commands.add("dev", "run a gateway for development, on memory and without any file"))
    commands.add("version", "print the version")
    shared = _shared(environ)
    whoami = commands.add("whoami", "show whose control token this is, and what it may do", shared)
    whoami.set_defaults(action="show")
    commands.group("orgs").add("list", "list all organizations that have apps", shared)
    _add_apps(commands.group("apps"), shared)
    _add_tables(commands.group("tables"), shared)
    _add_credentials(commands.group("credentials"), shared)
    _add_usage(commands.add("usage", "report what tenants used in a period, from Prometheus"))
    return parser.parse_args(argv)


def _add_dev(parser: Parser) -> None:
    parser.add_argument("--unsigned", action="store_true", help="take calls without a signature, too")
    parser.add_argument(
        "--port",
        type=int,
        choices=range(1, 65_536),
        metavar="N",
        help="of the data listener; the other listeners then take free ones",
    )
    parser.add_argument(
        "--print-config", action="store_true", help="print the configuration that it runs on, with every key"
    )


def _shared(environ: Mapping[str, str]) -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument(
        "--url",
        default=environ.get("KVS_CONTROL_URL"),
        help=f"the control listener (KVS_CONTROL_URL, default {DEFAULT_URL})",
    )
    return parser


def _add_apps(actions: Commands, shared: Parser) -> None:
    register = actions.add(
        "register", "register an app, or change what is named of one", shared, _app(), _limits()
    )
    register.add_argument("--type", required=True)
    change = actions.add("set", "change what is named of an app", shared, _app(), _limits())
    change.add_argument("--type", default=argparse.SUPPRESS)
    listing = actions.add("list", "list an organization's apps", shared)
    listing.add_argument("--org", required=True)
    for name, text in (
        ("show", "show an app"),
        ("suspend", "refuse all calls of an app until it is resumed"),
        ("resume", "serve a suspended app again"),
    ):
        actions.add(name, text, shared, _app())
    remove = actions.add("remove", "remove an app with its tables", shared, _app())
    remove.add_argument("--yes", action="store_true", required=True, help="confirm: the data is lost")


def _add_tables(actions: Commands, shared: Parser) -> None:
    actions.add("list", "list an app's tables", shared, _app())
    actions.add("show", "show a table", shared, _app(), _table())
    change = actions.add("set", "change the limit of a table", shared, _app(), _table())
    _add_limit(change, "--minute-limit", "default: that of the app alone", required=True)
    issuing = (shared, _app(), _table(), _format())
    create = actions.add("create", "create a table and print its token", *issuing)
    create.add_argument(
        "--if-missing",
        action="store_true",
        help="leave a table that exists as it is; its token is not printed",
    )
    create.add_argument("--minute-limit", type=int, default=argparse.SUPPRESS, metavar="N")
    rotate = actions.add("rotate", "give a table a new token and print it", *issuing)
    rotate.add_argument(
        "--overlap-seconds",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="how long the old token still works",
    )
    delete = actions.add("delete", "delete a table", shared, _app(), _table())
    delete.add_argument("--yes", action="store_true", required=True, help="confirm: the data is lost")


def _add_credentials(actions: Commands, shared: Parser) -> None:
    issue = actions.add("issue", "issue session credentials, in the form of credential_process", shared)
    issue.add_argument("--role", required=True, metavar="ARN")
    issue.add_argument(
        "--ttl",
        type=int,
        metavar="SECONDS",
        help="default 3600, or the configured maximum if it is less",
    )
    issue.add_argument("--org")
    issue.add_argument("--app")
    issue.add_argument("--env")


def _add_usage(parser: Parser) -> None:
    parser.add_argument(
        "--prometheus",
        required=True,
        metavar="URL",
        help="its token: KVS_PROMETHEUS_TOKEN",
    )
    for option, text in (
        ("--from", "beginning of the period: an RFC 3339 time, or a date, which begins at midnight UTC"),
        ("--to", "end of the period (inclusive)"),
    ):
        name = f"{option[2:]}_ms"
        parser.add_argument(option, required=True, type=instant_ms, dest=name, metavar="TIME", help=text)
    parser.add_argument(
        "--match", default="", metavar="MATCHERS", help="""further label matchers, like 'org="acme"'"""
    )
    parser.add_argument(
        "--lookback",
        type=duration_ms,
        default="30d",
        dest="lookback_ms",
        metavar="DURATION",
        help="how far before the period last values are looked for (default 30d)",
    )
    parser.add_argument("--format", choices=("json", "csv"), default="json")


def _app() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument("--org", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--env", default=DEFAULT_ENV, help=f"default {DEFAULT_ENV}")
    return parser


def _limits() -> Parser:
    parser = Parser(add_help=False)
    for option in ("--requests-per-minute", "--max-tables"):
        _add_limit(parser, option, "default: the configured one", required=False)
    return parser


def _add_limit(parser: Parser, option: str, text: str, *, required: bool) -> None:
    parser.add_argument(
        option, type=_limit, default=argparse.SUPPRESS, required=required, metavar="N|default", help=text
    )


def _limit(text: str) -> int | None:
    """A limit of one's own, or None for `default`. Raises ArgumentTypeError."""
    if text == "default":
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"neither a whole number nor default: {text!r}") from None


def _table() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument("--name", required=True)
    return parser


def _format() -> Parser:
    parser = Parser(add_help=False)
    parser.add_argument("--format", choices=("json", "env", "k8s-secret"), default="json")
    return parser
