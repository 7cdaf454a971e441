"""The client for JavaScript: its own tests, with this gateway, and its installation from the folder."""

import json

import pytest

from tests.system.clients.languages import CLIENTS, language, run

CLIENT = CLIENTS / "javascript"
QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


@pytest.fixture(scope="module")
def installed():
    """The client with what its tests need."""
    language("javascript").demand()
    assert (CLIENT / "node_modules").exists(), "make clients"
    return CLIENT


def test_its_own_tests_pass(installed):
    run("npm", "test", folder=installed)


def test_it_is_installed_from_the_folder_without_a_build(installed, tmp_path):
    (tmp_path / "package.json").write_text(json.dumps({"name": "app", "type": "module"}))
    run("npm", "install", "--install-links", *QUIET, str(installed), folder=tmp_path)
    program = 'import { connect } from "kvs-client"; console.log(typeof connect)'
    told = run("node", "--input-type=module", "--eval", program, folder=tmp_path)
    assert told.stdout == "function\n"
    assert {"src", "types"} <= {each.name for each in (tmp_path / "node_modules" / "kvs-client").iterdir()}
