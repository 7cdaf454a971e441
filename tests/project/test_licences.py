"""`LICENSES.md`: complete, true, and nothing that a closed product could not be built on."""

import re
from importlib.metadata import version

import pytest

from tests.project.licences import is_allowed, licence_of
from tests.project.lock import ROOT, pins

ROWS = re.findall(r"^- ([a-z0-9-]+) ([0-9]\S*): (.+)$", (ROOT / "LICENSES.md").read_text(), re.MULTILINE)


def test_every_locked_package_is_listed_at_its_version():
    assert [row[:2] for row in ROWS] == [(pin.name, pin.version) for pin in pins()]


@pytest.mark.parametrize("licence", sorted({row[2] for row in ROWS}))
def test_a_listed_licence_is_allowed(licence):
    assert is_allowed(licence)


@pytest.mark.parametrize(("name", "locked", "licence"), ROWS)
def test_a_listed_licence_is_the_one_that_the_package_states(name, locked, licence):
    assert version(name) != locked or licence == licence_of(name)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-only", False),
        ("", False),
    ],
)
def test_one_good_choice_is_enough_and_one_bad_duty_too_much(expression, allowed):
    assert is_allowed(expression) is allowed
