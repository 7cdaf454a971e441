"""Runs the scripts of deploy/README.md: creating secrets, the first put, rotating a key."""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
import yaml

from tests.support.config import merged
from tests.support.process import GatewayProcess
from tests.system.deploy.guide import FIRST_PUT, GUIDE, SCRIPTS
from tests.system.deploy.test_configurations import MOUNTED, ON_LOOPBACK, mount

KUBECTL = """#!/bin/sh
case "$*" in
    *" exec deploy/kvs-gateway -- "*) while test "$1" != --; do shift; done; shift; exec "$@" ;;
    *" port-forward service/kvs-gateway "*) exit ;;
esac
echo "not expected: $*" >&2
exit 1
"""


@contextmanager
def _shell(folder):
    """Runs a script with a gateway on the memory overlay and a `kubectl` that runs commands locally."""
    config = merged(yaml.safe_load(mount("memory", folder).read_text()), ON_LOOPBACK)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text(KUBECTL)
    (programs / "kvs-gateway").write_text(f'#!/bin/sh\nexec {sys.executable} -m gateway "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    with GatewayProcess(config, folder) as gateway:
        port = gateway.urls["data"].rpartition(":")[2]

        def run(script: str) -> str:
            script = script.replace(MOUNTED, str(folder)).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
            env = {"PATH": f"{programs}:{os.environ['PATH']}", "KVS_CONTROL_URL": gateway.urls["control"]}
            done = subprocess.run(
                ["/bin/sh", "-euc", script], env=env, capture_output=True, text=True, check=False, timeout=60
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


if shutil.which("kubectl"):

    def test_the_created_secret_is_the_mounted_one(tmp_path):
        stub = tmp_path / "kubectl"
        stub.write_text(
            f'#!/bin/sh\ntest "$1" = label || exec {shutil.which("kubectl")} "$@" --dry-run=client -o yaml\n'
        )
        stub.chmod(0o755)
        (script,) = [script for script in SCRIPTS if "create namespace kvs-gateway" in script]
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
        script = re.sub(r"^kubectl create namespace .*", r"\g<0>; echo ---", script, flags=re.MULTILINE)
        done = subprocess.run(
            ["/bin/sh", "-euc", script], env=env, capture_output=True, text=True, check=True
        )
        namespace, secret = yaml.safe_load_all(done.stdout)
        assert namespace["metadata"]["name"] == secret["metadata"]["namespace"] == "kvs-gateway"
        assert secret["metadata"]["name"] == "kvs-gateway"
        assert set(secret["data"]) == {"control-token", "session-key-1", "redis-url"}
        assert not [left for left in tmp_path.iterdir() if left.name.startswith("tmp.")]


if shutil.which("curl"):

    def test_the_first_put_works_as_pasted(tmp_path):
        with _shell(tmp_path) as shell:
            printed = shell(FIRST_PUT)
            assert json.loads(printed[printed.index("}\n") + 1 :]) == {"ok": True}


@pytest.mark.parametrize(("dry_run", "applied"), [("true", 1), ("false", 0)])
def test_a_manifest_that_fails_the_dry_run_is_not_applied(dry_run, applied, tmp_path):
    """Simulates a kind that is not installed: the dry run of `kubectl` fails."""
    calls = tmp_path / "calls"
    stub = tmp_path / "kubectl"
    stub.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *--dry-run=server*) {dry_run} ;; esac\n')
    stub.chmod(0o755)
    scripts = [script for script in SCRIPTS if "apply -k my-gateway" in script]
    assert len(scripts) == 2
    for script in scripts:
        calls.write_text("")
        (line,) = [line for line in script.splitlines() if "apply -k my-gateway" in line]
        subprocess.run(["/bin/sh", "-c", line], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
        assert calls.read_text().splitlines().count("apply -k my-gateway") == applied


def test_a_secret_is_set_without_showing_it_in_a_command_line(tmp_path):
    (function,) = re.findall(r"^put_secret\(\) \{.*?^\}", GUIDE, re.DOTALL | re.MULTILINE)
    shown = tmp_path / "shown"
    stub = tmp_path / "kubectl"
    stub.write_text(f'#!/bin/sh\necho "$@" > {shown}\ncat\n')
    stub.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = f"{function}\necho not-to-be-shown | put_secret control-token"
    done = subprocess.run(["/bin/sh", "-euc", script], env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"stringData": {"control-token": "not-to-be-shown"}}
    assert "not-to-be-shown" not in shown.read_text()
