"""The command as a shell runs it."""

import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import __version__
from gateway.cli.arguments import parse_arguments
from gateway.cli.parsers import Parser
from tests.support.config import BASE, CONTROL_TOKEN, merged
from tests.support.process import GatewayProcess
from tests.support.stopwatch import PATIENCE_SECONDS

CONFIG = Path(__file__).parents[1] / "config"


def _run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVS_")}
    command = [sys.executable, "-m", "gateway", *arguments]
    return subprocess.run(
        command,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_version_prints_the_version(argument):
    done = _run(argument)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"version": __version__}, "")


def test_checking_a_good_file_says_ok():
    done = _run("check", "--config", str(CONFIG / "good" / "everything.yaml"))
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"ok": True}, "")


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_bad_file_is_reported_with_all_paths_and_exit_4(command):
    file = str(CONFIG / "bad" / "region_and_others_are_wrong_together.yaml")
    done = _run(command, "--config", file)
    report = json.loads(done.stderr)
    assert (done.returncode, done.stdout) == (4, "")
    assert (report["error"], report["config"]) == ("invalid_configuration", file)
    assert [problem["path"] for problem in report["problems"]] == [
        "apps[0].tables[0]",
        "edge.head_seconds",
        "limit",
        "listen.data.port",
        "region",
    ]
    assert all(problem["problem"] for problem in report["problems"])


def test_a_file_that_does_not_exist_is_exit_4(tmp_path):
    done = _run("check", "--config", str(tmp_path / "nowhere.yaml"))
    assert done.returncode == 4
    assert json.loads(done.stderr)["problems"] == [{"path": "(file)", "problem": "cannot be read"}]


def test_a_file_is_checked_in_its_environment(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text('region: "${KVS_TEST_REGION}"\n')
    assert _run("check", "--config", str(file)).returncode == 4
    assert _run("check", "--config", str(file), KVS_TEST_REGION="eu-west-1").returncode == 0


def test_a_gateway_is_managed_from_a_shell(tmp_path):
    with GatewayProcess(BASE, tmp_path) as gateway:
        environ = {"KVS_CONTROL_URL": gateway.urls["control"], "KVS_CONTROL_TOKEN": CONTROL_TOKEN}
        registered = _run("apps", "register", "--org", "acme", "--app", "blog", "--type", "api", **environ)
        refused = _run("apps", "list", "--org", "acme", **{**environ, "KVS_CONTROL_TOKEN": "wrong"})
    assert (registered.returncode, json.loads(registered.stdout)["app_id"]) == (0, "blog")
    assert (refused.returncode, refused.stdout, json.loads(refused.stderr)["error"]) == (
        2,
        "",
        "invalid_token",
    )


def test_nobody_at_the_other_end_is_exit_5():
    done = _run("apps", "list", "--org", "acme", "--url", "http://127.0.0.1:1", KVS_CONTROL_TOKEN="secret")
    assert (done.returncode, json.loads(done.stderr)["error"]) == (5, "network")
    assert "secret" not in done.stderr


def test_help_is_printed_and_is_no_error():
    done = _run("tables", "create", "--help")
    assert done.returncode == 0
    assert "--minute-limit" in done.stdout


def _commands(parser: ArgumentParser, *words: str) -> Iterator[str]:
    groups = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
    if not groups:
        yield " ".join(words)
    for group in groups:
        for word, below in group.choices.items():
            yield from _commands(below, *words, word)


def test_help_lists_every_command_with_one_line(monkeypatch):
    parsers = []
    monkeypatch.setattr(Parser, "parse_args", lambda parser, _: parsers.append(parser))
    parse_arguments([], {})
    commands = [*_commands(parsers[0])]
    assert {"serve", "orgs list", "apps register", "tables set", "credentials issue"} <= {*commands}
    lines = _run("--help").stdout.splitlines()
    for command in commands:
        (line,) = [line for line in lines if re.match(rf"  {command}  +\w+", line)]
        assert len(line) <= 110


def test_help_of_a_group_lists_its_commands():
    assert "apps suspend" in _run("apps", "--help").stdout
    assert "tables show" not in _run("apps", "--help").stdout


def test_an_output_that_cannot_be_written_is_exit_1_with_json():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert json.loads(done.stderr)["error"] == "cannot_write_output"


def test_a_file_is_checked_without_the_secrets_that_it_names(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text('region: x\ncontrol: {tokens: ["file:/nowhere/token"]}\n')
    assert _run("check", "--config", str(file)).returncode == 4
    done = _run("check", "--config", str(file), "--without-files")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"ok": True})


@pytest.mark.parametrize("is_enabled", [True, False])
def test_serve_prints_the_address_of_the_console_if_there_is_one(tmp_path, is_enabled):
    with GatewayProcess(merged(BASE, {"console": {"enabled": is_enabled}}), tmp_path) as process:
        address = process.urls["control"] + "/console/"
        assert process.printed.get("console") == (address if is_enabled else None)
