"""The commands and their arguments, as one table of parsers."""

import argparse
from collections.abc import Mapping
from typing import NoReturn

from gateway.cli.calling import CommandFailed, Exit
from gateway.cli.usage import duration_ms, instant_ms
from gateway.domain.rules import DEFAULT_ENV

_DEFAULT_URL = "http://127.0.0.1:8081"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandFailed(Exit.INVALID, "usage", message=message, usage=self.format_usage().strip())


def parse_arguments(argv: list[str] | None, environ: Mapping[str, str]) -> argparse.Namespace:
    """The command (`command`, `action`) and its arguments. Raises CommandFailed."""
    parser = _Parser(prog="kvs-gateway", description="An authenticated key-value edge over pluggable stores.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("serve", "run the gateway"),
        ("check", "report every mistake in a configuration"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--config", required=True, metavar="FILE")
    commands.add_parser("version", help="print the version")
    shared = _shared(environ)
    commands.add_parser(
        "whoami", parents=[shared], help="show whose control token this is, and what it may do"
    )
    _add_organizations(commands.add_parser("orgs", help="show organizations"), shared)
    _add_apps(commands.add_parser("apps", help="manage apps"), shared)
    _add_tables(commands.add_parser("tables", help="manage tables"), shared)
    _add_credentials(commands.add_parser("credentials", help="issue session credentials"), shared)
    _add_usage(commands.add_parser("usage", help="report what tenants used in a period, from Prometheus"))
    return parser.parse_args(argv)


def _shared(environ: Mapping[str, str]) -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument(
        "--url",
        default=environ.get("KVS_CONTROL_URL") or _DEFAULT_URL,
        help="the control listener (KVS_CONTROL_URL)",
    )
    return parser


def _add_organizations(parser: argparse.ArgumentParser, shared: _Parser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="list all organizations that have apps")


def _add_apps(parser: argparse.ArgumentParser, shared: _Parser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    register = actions.add_parser("register", parents=[shared, _app()], help="register or change an app")
    register.add_argument("--type", required=True)
    register.add_argument("--requests-per-minute", type=int, metavar="N")
    register.add_argument("--max-tables", type=int, metavar="N")
    listing = actions.add_parser("list", parents=[shared], help="list an organization's apps")
    listing.add_argument("--org", required=True)
    for name, text in (
        ("show", "show an app"),
        ("suspend", "refuse all calls of an app until it is resumed"),
        ("resume", "serve a suspended app again"),
    ):
        actions.add_parser(name, parents=[shared, _app()], help=text)
    remove = actions.add_parser("remove", parents=[shared, _app()], help="remove an app with its tables")
    remove.add_argument("--yes", action="store_true", required=True, help="confirm: the data is lost")


def _add_tables(parser: argparse.ArgumentParser, shared: _Parser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared, _app()], help="list an app's tables")
    issuing = [shared, _app(), _table(), _format()]
    create = actions.add_parser("create", parents=issuing, help="create a table and print its token")
    create.add_argument("--minute-limit", type=int, metavar="N")
    rotate = actions.add_parser("rotate", parents=issuing, help="give a table a new token and print it")
    rotate.add_argument("--overlap-seconds", type=int, metavar="N", help="how long the old token still works")
    delete = actions.add_parser("delete", parents=[shared, _app(), _table()], help="delete a table")
    delete.add_argument("--yes", action="store_true", required=True, help="confirm: the data is lost")


def _add_credentials(parser: argparse.ArgumentParser, shared: _Parser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    issue = actions.add_parser("issue", parents=[shared], help="print them as AWS' credential_process does")
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


def _add_usage(parser: argparse.ArgumentParser) -> None:
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


def _app() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("--org", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--env", default=DEFAULT_ENV)
    return parser


def _table() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("--name", required=True)
    return parser


def _format() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("--format", choices=("json", "env", "k8s-secret"), default="json")
    return parser
