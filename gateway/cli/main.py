"""The entry point: arguments in, exit code out."""

import argparse
import gc
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import uvloop

from gateway import __version__
from gateway.app import build_app
from gateway.cli.arguments import parse_arguments
from gateway.cli.calling import CommandFailed, Exit
from gateway.cli.development import EXAMPLE, DevelopmentFile, what_to_export
from gateway.cli.formats import failing_line, is_sourced
from gateway.cli.management import run_management
from gateway.cli.usage import run_usage
from gateway.config.loading import ConfigurationFile, load
from gateway.config.problems import InvalidConfiguration
from gateway.config.settings import Settings
from gateway.controlplane.console import PATH as CONSOLE_PATH
from gateway.observability.logs import configure_logging
from gateway.replica.reload import FileWatch
from gateway.replica.run import CannotListen, serve

log = logging.getLogger("kvs.lifecycle")


def main(argv: list[str] | None = None) -> int:
    """Run one command."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        arguments = parse_arguments(argv, os.environ)
        _print(_run(arguments, os.environ))
    except CommandFailed as failure:
        _explain(failure, argv)
        if is_sourced(argv):
            with suppress(CommandFailed):
                _print(failing_line(failure.exit_code))
        return failure.exit_code
    return Exit.OK


def _explain(failure: CommandFailed, argv: list[str]) -> None:
    """To people in several lines. The log of a server ends with one line that says why (D233)."""
    if argv[:1] == ["serve"] and not sys.stderr.isatty():
        configure_logging("info")
        log.critical("cannot start", extra={"fields": failure.report})
    else:
        print(json.dumps(failure.report, indent=2), file=sys.stderr)


def _print(output: str) -> None:
    try:
        print(output, end="" if output.endswith("\n") or not output else "\n", flush=True)
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - so that nothing is flushed again at exit
        raise CommandFailed(Exit.GENERAL, "cannot_write_output", message=error.strerror or "") from None


def _run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    match arguments.command:
        case "version":
            return json.dumps({"version": __version__})
        case "check":
            with _checking(arguments.config):
                load(Path(arguments.config), environ, with_files=not arguments.without_files)
            return json.dumps({"ok": True})
        case "serve":
            _serve(ConfigurationFile(Path(arguments.config), environ), _listening)
            return ""
        case "dev":
            if arguments.print_config:
                return EXAMPLE.read_text(encoding="utf-8")
            file = DevelopmentFile(port=arguments.port, is_signed=not arguments.unsigned)
            _serve(file, what_to_export)
            return ""
        case "usage":
            return run_usage(arguments, environ)
        case _:
            return run_management(arguments, environ)


@contextmanager
def _checking(file: object) -> Iterator[None]:
    try:
        yield
    except InvalidConfiguration as error:
        raise CommandFailed(
            Exit.INVALID, "invalid_configuration", config=str(file), problems=error.report
        ) from None


def _listening(settings: Settings, urls: Mapping[str, str]) -> str:
    console = {"console": urls["control"] + CONSOLE_PATH} if settings.console.enabled else {}
    return json.dumps({"listening": urls, **console})


def _serve(file: ConfigurationFile, told: Callable[[Settings, Mapping[str, str]], str]) -> None:
    """Run a replica until its end; `told` makes of settings and listeners what is printed at the start."""
    gc.disable()  # until all is made that stays (D130)
    with _checking(file):
        settings = file.load()
    configure_logging(settings.logging.level)

    def announce(urls: Mapping[str, str]) -> None:
        print(told(settings, urls), flush=True)

    async def run() -> dict[str, str]:
        app = await build_app(settings)
        await serve(app.replica, FileWatch(file, app.reload), announce)
        return app.ops.health.never_ready()

    try:
        never_ready = uvloop.run(run())
    except CannotListen as error:
        raise CommandFailed(Exit.GENERAL, "cannot_listen", message=str(error)) from None
    if never_ready:
        raise CommandFailed(Exit.NETWORK, "never_ready", dependencies=never_ready)
