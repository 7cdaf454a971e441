"""The Python client: its own tests with this gateway, in a separate environment."""

import shutil

import pytest

from tests.system.clients.languages import CLIENTS, PYTHON, language, run

CLIENT = CLIENTS / "python"


@pytest.fixture(autouse=True)
def _demand_the_environment():
    language("python-async").demand()


def test_its_own_tests_pass():
    run(PYTHON, "-m", "pytest", "-q", folder=CLIENT)


def test_it_installs_from_the_folder_with_its_types_and_nothing_else(tmp_path):
    source = shutil.copytree(
        CLIENT, tmp_path / "source", ignore=shutil.ignore_patterns("*.egg-info", "build")
    )
    target = tmp_path / "installed"
    options = ["--quiet", "--no-deps", "--target", str(target)]
    run(PYTHON, "-m", "pip", "install", *options, str(source), folder=CLIENT)
    assert {each.name.partition("-")[0] for each in target.iterdir()} == {"kvs_client"}
    assert (target / "kvs_client" / "py.typed").exists()
