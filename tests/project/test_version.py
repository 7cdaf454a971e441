"""One version: every place that states it states that of the source, and a new one reaches all of them."""

import re
import shutil

import pytest

from gateway import __version__
from release.version import VERSION_PATTERNS, change, stated_in, version_of
from tests.support.repository import ROOT

CHANGELOGS = [ROOT / "CHANGELOG.md", *sorted(ROOT.glob("clients/*/CHANGELOG.md"))]


@pytest.mark.parametrize("path", VERSION_PATTERNS)
def test_a_place_states_the_version_of_the_source(path):
    stated = stated_in(ROOT, path)
    assert stated
    assert set(stated) == {__version__}


def test_a_new_version_is_written_into_all_places_and_nothing_else_changes(tmp_path):
    for path in VERSION_PATTERNS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, tmp_path / path)
    change(tmp_path, "12.34.56")
    assert version_of(tmp_path) == "12.34.56"
    for path in VERSION_PATTERNS:
        assert set(stated_in(tmp_path, path)) == {"12.34.56"}, path
    change(tmp_path, __version__)
    for path in VERSION_PATTERNS:
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), path


@pytest.mark.parametrize("changelog", CHANGELOGS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_changelog_begins_with_unreleased_changes_then_the_dated_version(changelog):
    headings = re.findall(r"^## (.+)$", changelog.read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} - \d{{4}}-\d\d-\d\d", headings[1])


def test_the_changelog_says_how_to_upgrade_from_the_version_before():
    text = (ROOT / "CHANGELOG.md").read_text()
    _, _, before = re.findall(r"^## (\S+)", text, re.MULTILINE)[:3]
    section = text.partition(f"\n## {__version__} ")[2].partition("\n## ")[0]
    assert f"\n### Upgrade from {before}\n" in section


def test_every_package_is_under_the_licence_of_the_project():
    licence = (ROOT / "LICENSE").read_text()
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    for client in ("python", "javascript", "go"):
        assert (ROOT / "clients" / client / "LICENSE").read_text() == licence
    for path, line in {
        "setup.cfg": "license_expression = Apache-2.0\n",
        "clients/python/pyproject.toml": 'license = "Apache-2.0"\n',
        "clients/javascript/package.json": '"license": "Apache-2.0",\n',
    }.items():
        assert line in (ROOT / path).read_text(), path
