"""The samples of the README and of the page on signing by hand work in each language."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.config import BASE, TABLE_TOKEN, merged
from tests.support.process import GatewayProcess
from tests.support.repository import ROOT
from tests.system.clients.languages import CLIENTS, LANGUAGES, PYTHON

PATIENCE_SECONDS = 600
BY_NAME = {language.name: language for language in LANGUAGES}
GO = """package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/kvs"
)

func run(ctx context.Context) error {
%s
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Starts a gateway; returns the variables and credentials that the platform sets for a function."""
    tables = [{"name": "notes", "token": TABLE_TOKEN}]
    config = merged(BASE, {"apps": [{"org": "acme", "app": "blog", "type": "api", "tables": tables}]})
    folder = tmp_path_factory.mktemp("gateway")
    with GatewayProcess(config, folder) as gateway:
        yield {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "SERVICE_KVS_URL": gateway.urls["data"],
            "SERVICE_KVS_REGION": "eu-central-1",
            "SERVICE_KVS_TOKEN_NOTES": TABLE_TOKEN,
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "test-secret-access-key",
        }


def block(document: str, language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    return found


def output(command: list[str], environment: dict[str, str], folder) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_sample_is_typed_and_works(environment, tmp_path):
    BY_NAME["python-sync"].demand()
    (tmp_path / "app.py").write_text(block("README.md", "python"))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "app.py"]
    output(mypy, environment | {"MYPYPATH": str(CLIENTS / "python")}, tmp_path)
    assert output([PYTHON, "app.py"], environment, tmp_path) == "{'text': 'hello'}\n"


def test_javascript_sample_is_typed_and_works(environment, tmp_path):
    BY_NAME["javascript"].demand()
    (tmp_path / "app.mjs").write_text(block("README.md", "js"))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "kvs-client").symlink_to(CLIENTS / "javascript")
    tsc = ["node", str(CLIENTS / "javascript/node_modules/typescript/bin/tsc")]
    strict = ["--strict", "--noEmit", "--allowJs", "--checkJs", "--module", "nodenext", "--target", "es2022"]
    output([*tsc, *strict, "app.mjs"], environment, tmp_path)
    assert output(["node", "app.mjs"], environment, tmp_path) == "{ text: 'hello' }\n"


def test_go_sample_passes_vet_and_works(environment, tmp_path):
    BY_NAME["go"].demand()
    shown = "\n".join(f"\t{line}" if line else "" for line in block("README.md", "go").splitlines())
    (tmp_path / "main.go").write_text(GO % shown)
    shutil.copy(CLIENTS / "go" / "go.sum", tmp_path)
    module = (CLIENTS / "go" / "go.mod").read_text().replace("module example.com/kvs", "module app")
    required = "\nrequire example.com/kvs v0.0.0\n"
    (tmp_path / "go.mod").write_text(f"{module}{required}replace example.com/kvs => {CLIENTS / 'go'}\n")
    output(["go", "vet", "-mod=mod", "."], environment, tmp_path)
    assert output(["go", "run", "-mod=mod", "."], environment, tmp_path) == "hello\n"


def test_sample_of_signing_by_hand_works(environment, tmp_path):
    (tmp_path / "app.py").write_text(block("docs/signing-by-hand.md", "python"))
    put, got, deleted = output([sys.executable, "app.py"], environment, tmp_path).splitlines()
    assert (put, deleted) == ("{'ok': True}", "{'deleted': True}")
    assert got.startswith("{'found': True, 'value': {'text': 'hello'}, 'expiresAt': '2")
