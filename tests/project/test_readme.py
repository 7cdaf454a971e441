"""Commands of the README work as pasted: against a gateway on the example configuration, from a shell."""

import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.support.process import GatewayProcess
from tests.support.repository import ROOT

TRY = re.search(r"<!-- try -->\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
CURLS = [line for line in TRY.splitlines() if line.startswith("curl ")]


@pytest.fixture
def shell(tmp_path):
    """Runs a command of the README with the example gateway's ports replaced by free ones."""
    text = (ROOT / "config.example.yaml").read_text()
    config = yaml.safe_load(re.sub(r"\bport: \d+", "port: 0", text))
    with GatewayProcess(config, tmp_path) as gateway:

        def run(command: str) -> str:
            for port, name in (("8080", "data"), ("9090", "ops"), ("8081", "control")):
                command = command.replace(f"http://127.0.0.1:{port}", gateway.urls[name])
            command = command.replace(".venv/bin/kvs-gateway", f"{sys.executable} -m gateway")
            env = {"PATH": "/usr/bin:/bin", "KVS_CONTROL_URL": gateway.urls["control"]}
            done = subprocess.run(
                ["/bin/sh", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, check=True
            )
            return done.stdout

        yield run


if shutil.which("curl"):

    def test_the_put_and_the_get_of_the_readme_work_as_pasted(shell):
        put, get = CURLS
        assert json.loads(shell(put)) == {"ok": True}
        assert json.loads(shell(get))["value"] == {"text": "hello"}


def test_the_commands_of_the_readme_create_a_table(shell):
    lines = TRY.splitlines()
    commands = lines[lines.index(next(line for line in lines if line.startswith("export "))) :]
    printed = shell("\n".join(commands))
    assert json.loads(printed[printed.index('{\n  "table"') :])["token"].startswith("kvs_")


def test_make_run_prints_the_part_of_the_readme_that_is_tested_here():
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^\t@(sed .*README.md.*)$", makefile, re.MULTILINE)
    done = subprocess.run(
        ["/bin/sh", "-c", recipe.replace("$$", "$")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == TRY.strip()
