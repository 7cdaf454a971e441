"""Maps: the docstring of each folder's `__init__` names every file and folder in it, and nothing else."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PACKAGES = [ROOT / "gateway", ROOT / "backends"]
FOLDERS = sorted({file.parent for package in PACKAGES for file in package.rglob("__init__.py")})
ENTRY = re.compile(r"^([a-z0-9_]+)/?  +\S", re.MULTILINE)
"""A name, two or more spaces, and what it is."""


def mapped(folder: Path) -> list[str]:
    tree = ast.parse((folder / "__init__.py").read_text())
    return ENTRY.findall(ast.get_docstring(tree) or "")


def present(folder: Path) -> set[str]:
    files = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    return files | {file.parent.name for file in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_map_names_exactly_what_is_there(folder):
    assert sorted(mapped(folder)) == sorted(present(folder))


def test_the_root_holds_at_most_four_files():
    assert len([file for file in (ROOT / "gateway").iterdir() if file.is_file()]) <= 4
