"""The Go client with the tools of Go; the shared scenarios are in `test_scenarios.py`."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.config import BASE, TABLE_TOKEN
from tests.support.process import GatewayProcess
from tests.system.clients.languages import CLIENTS, language
from tests.system.clients.languages import run as run_program

MODULE = CLIENTS / "go"
STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"


@pytest.fixture(autouse=True)
def _demand_go():
    language("go").demand_programs()


def run(*command: str, folder: Path = MODULE, **variables: str) -> str:
    done = run_program(*command, folder=folder, CI="true", **variables)
    return done.stdout + done.stderr


def test_its_own_tests_pass():
    detects_races = shutil.which("gcc") is not None
    run("go", "test", *(["-race"] if detects_races else []), "-count=1", "./...")


def test_vet_finds_nothing():
    run("go", "vet", "./...")


def test_staticcheck_finds_nothing():
    run("go", "run", STATICCHECK, "./...")


def test_gofmt_changes_nothing():
    assert run("gofmt", "-l", ".") == ""


def test_go_mod_lists_exactly_the_required_modules():
    run("go", "mod", "tidy", "-diff")
    run("go", "mod", "verify")


@pytest.mark.parametrize(("system", "processor"), [("windows", "amd64"), ("darwin", "arm64"), ("js", "wasm")])
def test_it_builds_for_other_systems(system, processor):
    run("go", "build", ".", GOOS=system, GOARCH=processor)


def test_client_is_refused_in_webassembly_with_the_reason():
    if shutil.which("node") is None:
        pytest.skip("node is not installed: WebAssembly cannot be run")
    launcher = Path(run("go", "env", "GOROOT").strip()) / "lib" / "wasm" / "go_js_wasm_exec"
    output = run("go", "test", "-v", f"-exec={launcher}", "-run", "Browser", ".", GOOS="js", GOARCH="wasm")
    assert "PASS: TestBrowserIsRefusedWithTheReason" in output


def test_first_put_of_its_readme_works_in_another_module(tmp_path):
    first = re.search(r"```go\n(.*?)```", (MODULE / "README.md").read_text(), re.DOTALL)[1]
    assert len(first.strip().splitlines()) == 5
    (tmp_path / "main.go").write_text(PROGRAM.replace("FIRST", first.replace('"notes"', '"sessions"')))
    run("go", "mod", "init", "app", folder=tmp_path)
    run("go", "mod", "edit", f"-replace=example.com/kvs={MODULE}", folder=tmp_path)
    run("go", "mod", "tidy", folder=tmp_path)
    with GatewayProcess(BASE, tmp_path) as gateway:
        output = run(
            *("go", "run", "."),
            folder=tmp_path,
            SERVICE_KVS_URL=gateway.urls["data"],
            SERVICE_KVS_REGION="eu-central-1",
            SERVICE_KVS_TOKEN_SESSIONS=TABLE_TOKEN,
            AWS_ACCESS_KEY_ID="AKIDEXAMPLE",
            AWS_SECRET_ACCESS_KEY="test-secret-access-key",
        )
    assert output == "<nil>\n"


PROGRAM = """
package main

import (
	"context"
	"fmt"
	"time"

	"example.com/kvs"
)

func main() { fmt.Println(put(context.Background())) }

func put(ctx context.Context) error {
	FIRST
	return err
}
"""
