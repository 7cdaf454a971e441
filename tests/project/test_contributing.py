"""The first change of CONTRIBUTING.md, made in a copy of the repository: it fails where the page says so."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.repository import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()


def step(name: str) -> str:
    """A script of the page."""
    part = re.search(rf"<!-- first change: {name} -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    assert part is not None
    return part[1].replace(".venv/bin/python", sys.executable)


@pytest.fixture
def copy(tmp_path):
    for name in ("gateway", "backends", "tests", "docs", "clients", "deploy"):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "config.example.yaml", "README.md"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_first_change_fails_its_tests_until_the_text_is_changed(copy):
    names = step("tests").split("\nsed")[0]
    failed = _run(step("tests"), copy)
    assert failed.returncode == 1
    assert "its table was deleted" in failed.stdout
    passed = _run(f"{names}\n{step('text')}", copy)
    assert passed.returncode == 0, passed.stdout


def _run(script: str, folder) -> subprocess.CompletedProcess[str]:
    """Without what the tests around it have set for themselves."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        ["/bin/sh", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
