"""Commands in processes and without a gateway: version, check, serve, help, failed output."""

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
from gateway.cli.main import main
from gateway.cli.parsers import Parser
from tests.cli.parsing import commands_of, whole_parser
from tests.support.config import BASE, merged
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


def test_version_is_printed_as_json():
    done = _run("version")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"version": __version__}, "")


def test_output_that_cannot_be_written_exits_1_with_json():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gateway", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    error = json.loads(done.stderr)
    assert error == {
        "error": "cannot_write_output",
        "detail": "cannot write the output: No space left on device",
    }


def test_output_that_its_encoding_cannot_express_exits_1_with_json():
    done = _run("dev", "--print-config", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"] == "cannot_write_output"


def _check_report(report: dict, file: str) -> None:
    assert (report["error"], report["config"]) == ("invalid_configuration", file)
    assert report["detail"]
    assert [problem["path"] for problem in report["problems"]] == [
        "apps[0].tables[0]",
        "edge.head_seconds",
        "limit",
        "listen.data.port",
        "region",
    ]
    assert all(problem["problem"] for problem in report["problems"])


BAD = str(CONFIG / "bad" / "region_and_others_are_wrong_together.yaml")


async def test_check_reports_all_mistakes_of_a_file_and_exits_4(command):
    result = await command("check", "--config", BAD)
    assert (result.code, result.out) == (4, "")
    _check_report(result.error, BAD)


def test_serve_reports_all_mistakes_of_a_file_and_exits_4():
    done = _run("serve", "--config", BAD)
    assert (done.returncode, done.stdout) == (4, "")
    _check_report(json.loads(done.stderr), BAD)


async def test_check_of_a_good_file_prints_ok(command):
    result = await command("check", "--config", str(CONFIG / "good" / "everything.yaml"))
    assert (result.code, result.json, result.err) == (0, {"ok": True}, "")


async def test_check_of_a_missing_file_exits_4(command, tmp_path):
    result = await command("check", "--config", str(tmp_path / "nowhere.yaml"))
    assert result.code == 4
    assert [problem["path"] for problem in result.error["problems"]] == ["(file)"]


async def test_check_reads_variables_of_its_environment(command, tmp_path, monkeypatch):
    file = tmp_path / "config.yaml"
    file.write_text('region: "${KVS_TEST_REGION}"\n')
    assert (await command("check", "--config", str(file))).code == 4
    monkeypatch.setenv("KVS_TEST_REGION", "eu-west-1")
    assert (await command("check", "--config", str(file))).code == 0


async def test_check_without_files_accepts_missing_secret_files(command, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text('region: x\ncontrol: {tokens: ["file:/nowhere/token"]}\n')
    assert (await command("check", "--config", str(file))).code == 4
    result = await command("check", "--config", str(file), "--without-files")
    assert (result.code, result.json) == (0, {"ok": True})


async def test_serve_prints_its_console_url_and_commands_manage_it(command, monkeypatch, tmp_path):
    with GatewayProcess(BASE, tmp_path) as gateway:
        assert gateway.printed["console"] == gateway.urls["control"] + "/console/"
        monkeypatch.setenv("KVS_CONTROL_URL", gateway.urls["control"])
        registered = await command("apps", "register", "--org", "acme", "--app", "blog", "--type", "api")
    assert (registered.code, registered.json["app_id"]) == (0, "blog")


def test_serve_prints_no_console_url_if_the_console_is_disabled(tmp_path):
    with GatewayProcess(merged(BASE, {"console": {"enabled": False}}), tmp_path) as gateway:
        assert "console" not in gateway.printed


def _help(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_of_a_command_lists_its_options(capsys):
    assert "--minute-limit" in _help(capsys, "tables", "create")


@pytest.fixture
def parser() -> Parser:
    return whole_parser()


def test_help_lists_every_command_with_one_line(parser, capsys):
    commands = [*commands_of(parser)]
    assert {"serve", "orgs list", "apps register", "tables set", "credentials issue"} <= {*commands}
    lines = _help(capsys).splitlines()
    for command in commands:
        (line,) = [line for line in lines if re.match(rf"  {command}  +\w+", line)]
        assert len(line) <= 110


def _options(parser: ArgumentParser) -> Iterator[tuple[str, str | None]]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)
        else:
            yield f"{parser.prog} {'/'.join(action.option_strings)}", action.help


def test_every_option_has_a_help_text(parser):
    assert [name for name, text in _options(parser) if not text] == []


def test_help_of_a_group_lists_its_commands(capsys):
    text = _help(capsys, "apps")
    assert "apps suspend" in text
    assert "tables show" not in text
