"""The JavaScript client: its own tests with this gateway, and its installation from the folder."""

import json

import pytest

from tests.system.clients.languages import CLIENTS, language, run

CLIENT = CLIENTS / "javascript"
QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


@pytest.fixture(scope="module")
def installed():
    """Returns the folder of the client, with the packages of its tests."""
    language("javascript").demand()
    assert (CLIENT / "node_modules").exists(), "make clients"
    return CLIENT


def test_its_own_tests_pass(installed):
    run("npm", "test", folder=installed)


def test_it_installs_from_the_folder_without_a_build(installed, tmp_path):
    (tmp_path / "package.json").write_text(json.dumps({"name": "app", "type": "module"}))
    run("npm", "install", "--install-links", *QUIET, str(installed), folder=tmp_path)
    program = 'import { connect } from "kvs-client"; console.log(typeof connect)'
    done = run("node", "--input-type=module", "--eval", program, folder=tmp_path)
    assert done.stdout == "function\n"
    assert {"src", "types"} <= {each.name for each in (tmp_path / "node_modules" / "kvs-client").iterdir()}
