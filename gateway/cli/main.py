"""The entry point: takes arguments, returns an exit code."""

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
from gateway.cli.calling import CommandFailed, Exit, report_text
from gateway.cli.development import EXAMPLE, DevelopmentFile, shell_script
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
    """Runs one command."""
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
    """Prints the report, indented for people. `serve` logs it as one line instead.

    Kubernetes shows the last line of a failed container's log, so `kubectl describe pod` gives the reason.
    """
    if argv[:1] == ["serve"] and not sys.stderr.isatty():
        configure_logging("info")
        log.critical("cannot start", extra={"fields": failure.report})
    else:
        print(report_text(failure.report), file=sys.stderr)


def _print(output: str) -> None:
    try:
        print(output, end="" if output.endswith("\n") or not output else "\n", flush=True)
    except (OSError, UnicodeEncodeError) as error:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - Python flushes it at exit
        why = error.strerror if isinstance(error, OSError) else f"{error.encoding} lacks a character"
        raise CommandFailed(Exit.GENERAL, "cannot_write_output", f"cannot write the output: {why}") from None


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
            _serve(file, shell_script)
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
        detail = "the configuration has mistakes: correct those under problems"
        raise CommandFailed(
            Exit.INVALID, "invalid_configuration", detail, config=str(file), problems=error.report
        ) from None


def _listening(settings: Settings, urls: Mapping[str, str]) -> str:
    console = {"console": urls["control"] + CONSOLE_PATH} if settings.console.enabled else {}
    return json.dumps({"listening": urls, **console})


def _serve(file: ConfigurationFile, announcement: Callable[[Settings, Mapping[str, str]], str]) -> None:
    """Runs a replica until its end; prints the `announcement` of settings and URLs when it listens."""
    gc.disable()  # the replica enables it again once everything long-lived exists, and is frozen
    with _checking(file):
        settings = file.load()
    configure_logging(settings.logging.level)

    def announce(urls: Mapping[str, str]) -> None:
        print(announcement(settings, urls), flush=True)

    async def run() -> dict[str, str]:
        app = await build_app(settings)
        await serve(app.replica, FileWatch(file, app.reload), announce)
        return app.ops.health.never_ready()

    try:
        never_ready = uvloop.run(run())
    except CannotListen as error:
        raise CommandFailed(Exit.GENERAL, "cannot_listen", f"cannot listen: {error}") from None
    if never_ready:
        detail = "the replica ended before all of its dependencies answered: check those under dependencies"
        raise CommandFailed(Exit.NETWORK, "never_ready", detail, dependencies=never_ready)
