"""Each mistake is reported with its path; the report stands in the bad file's head."""

from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct

from backends import StoreSettings
from gateway.config.loading import load
from gateway.config.problems import InvalidConfiguration

FILES = sorted(Path(__file__).with_name("bad").glob("*.yaml"))


def _store_kinds() -> str:
    kinds: tuple[type[Struct], ...] = get_args(StoreSettings) or (StoreSettings,)
    return ", ".join(str(kind.__struct_config__.tag) for kind in kinds)


def _expected(file: Path) -> list[str]:
    lines = []
    for line in file.read_text().splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# ").replace("{store kinds}", _store_kinds()))
    return lines


def _reported(file: Path) -> list[str]:
    with pytest.raises(InvalidConfiguration) as caught:
        load(file, {})
    return [f"{problem.path}: {problem.problem}" for problem in caught.value.problems]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_report_on_a_bad_file_is_what_its_head_says(file):
    assert _reported(file) == _expected(file)


def test_a_file_that_does_not_exist_is_reported(tmp_path):
    assert _reported(tmp_path / "nowhere.yaml") == ["(file): cannot be read"]


def test_a_file_that_is_not_utf_8_is_reported(tmp_path):
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"region: caf\xe9\n")
    assert _reported(file) == ["(file): cannot be read"]


@pytest.mark.parametrize("bracket", ["[", "{a: "])
def test_a_file_of_nothing_but_brackets_is_reported(tmp_path, bracket):
    file = tmp_path / "brackets.yaml"
    file.write_text("apps: " + bracket * 200_000)
    assert _reported(file) == ["(file): is nested too deeply"]


def test_all_mistakes_of_many_files_laid_together_are_reported_together(tmp_path):
    sections = [
        "limits_of_zero",
        "rate_limit_of_zero",
        "readiness_unknown",
        "drain_is_negative",
        "tls_is_true",
    ]
    file = tmp_path / "all.yaml"
    parts = [next(each for each in FILES if each.stem == name) for name in sections]
    bodies = [
        line
        for part in parts
        for line in part.read_text().splitlines()
        if not line.startswith(("#", "region"))
    ]
    file.write_text("\n".join(["region: eu-central-1", *bodies]))
    assert _reported(file) == sorted(line for part in parts for line in _expected(part))
