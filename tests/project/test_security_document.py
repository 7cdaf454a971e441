"""SECURITY.md keeps its word: each test that it names exists, and each that is named is a test."""

import ast
import re

import pytest

from tests.support.repository import ROOT

TEXT = (ROOT / "SECURITY.md").read_text()
NAMED = re.findall(r"`(tests/[a-z0-9_/]+\.py)(?:::(test_\w+))?`", TEXT)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)), ids=lambda part: part or "the file")
def test_a_named_test_exists(file, name):
    tree = ast.parse((ROOT / file).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert functions if not name else name in functions


def test_everything_that_looks_like_a_test_was_checked():
    assert len(NAMED) == len(re.findall(r"tests/", TEXT)) > 30


def test_each_attacker_has_a_test_to_show():
    for attacker in TEXT.split("\n### ")[1:]:
        assert "`tests/" in attacker.split("\n## ")[0], attacker.splitlines()[0]
