"""`requirements.lock`: what `setup.cfg` allows, whole, and by hash."""

import re
from importlib.metadata import requires, version

import pytest
from packaging.requirements import Requirement

from tests.project.lock import LOCK, ROOT, name_of, pins, requirements

PINNED = {pin.name: pin for pin in pins()}


@pytest.mark.parametrize("requirement", requirements(), ids=lambda each: each.name)
def test_every_requirement_of_the_project_is_locked_to_an_allowed_version(requirement):
    assert PINNED[name_of(requirement)].version in requirement.specifier


@pytest.mark.parametrize("name", [name for name, pin in PINNED.items() if version(name) == pin.version])
def test_every_requirement_of_a_locked_package_is_locked_to_an_allowed_version(name):
    needed = [Requirement(line) for line in requires(name) or []]
    for requirement in needed:
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            assert PINNED[name_of(requirement)].version in requirement.specifier


def test_every_line_of_the_lock_is_understood_here():
    named = re.findall(r"^[A-Za-z0-9].*?(?===)", LOCK.read_text(), re.MULTILINE)
    assert sorted(named) == sorted(PINNED)


@pytest.mark.parametrize("pin", PINNED.values(), ids=lambda each: each.name)
def test_every_package_is_known_by_hashes_of_its_files(pin):
    assert pin.hashes
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in pin.hashes)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_lock_serves_every_python_that_is_supported(version):
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    for name in ("aiohttp", "aiobotocore", "msgspec"):
        marker = PINNED[name].marker
        assert marker is None or marker.evaluate(environment)


def test_the_lock_names_no_registry_and_no_path():
    assert not re.search(r"https?:|--index|--find-links|file:|/(home|root|tmp|work)/", LOCK.read_text())


def test_the_image_is_built_from_the_lock():
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes --requirement requirements.lock" in dockerfile
    assert "--no-index --find-links /wheels kvs-gateway" in dockerfile
