"""The unmodified AWS CLI fetches credentials in both forms, calls with them, and refreshes them."""

import json

import pytest

from tests.support.servers import wait_for
from tests.system.workloads.command_line import CommandLine, finish, install
from tests.system.workloads.conftest import LIFETIME_SECONDS


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return install(tmp_path_factory.mktemp("aws-cli"))


def exchanges(gateway_process) -> list[str]:
    """Returns the access keys issued so far."""
    lines = [json.loads(line) for line in gateway_process.log.read_text().splitlines()]
    return [line["access_key_id"] for line in lines if "access_key_id" in line]


def test_the_aws_cli_puts_and_gets_with_fetched_credentials(program, pod):
    commands = CommandLine(program, pod)
    assert commands.run("put", "--key", "greeting", "--value", "hello") == {"ok": True}
    assert commands.run("get", "--key", "greeting")["value"] == "hello"


def test_a_command_that_outlives_its_credentials_refreshes_them(program, pod, gateway_process):
    """Polls once a second for an entry that is put after the first credentials have expired."""
    commands = CommandLine(program, pod)
    before = len(exchanges(gateway_process))
    with commands.start("wait", "entry-exists", "--key", pod.name) as waiting:
        try:
            wait_for(lambda: len(exchanges(gateway_process)) >= before + LIFETIME_SECONDS + 2, "no refresh")
            assert waiting.poll() is None
            assert commands.run("put", "--key", pod.name, "--value", "here") == {"ok": True}
            finish(waiting)
        finally:
            waiting.kill()
    given = exchanges(gateway_process)[before:]
    assert len(set(given)) == len(given)
