"""`kvs-gateway dev`: a whole gateway without a configuration file, and the shell lines to use it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from gateway.cli.development import EXAMPLE, DevelopmentFile
from gateway.config.dangers import PUBLISHED
from tests.support.ports import free_port
from tests.support.repository import ROOT
from tests.support.signing import Signer

TABLE = "SERVICE_KVS_TOKEN_SESSIONS"
OF_THE_APP = {"SERVICE_KVS_URL", "SERVICE_KVS_REGION", TABLE}
OF_THE_CALLER = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
OF_COMMANDS = {"KVS_CONTROL_URL", "KVS_CONTROL_TOKEN"}
FOREIGN_TOKEN = "the-token-of-another-gateway"


def start(folder: Path, *options: str):
    """Starts the process; on another port if another process took this one first."""
    while True:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "dev", "--port", str(free_port()), *options],
                cwd=folder,
                env={**os.environ, "KVS_CONTROL_TOKEN": FOREIGN_TOKEN, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        first = process.stdout.readline()
        if first:
            return process, first
        process.stdout.close()
        process.wait()
        reason = (folder / "log").read_text()
        assert "ddress already in use" in reason, reason


@contextmanager
def running(folder: Path, *options: str):
    """Yields the output of the command once the gateway listens; ends it by Ctrl-C."""
    process, printed = start(folder, *options)
    try:
        while "/v1/put" not in printed:
            line = process.stdout.readline()
            assert line, (folder / "log").read_text()
            printed += line
        yield printed
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def exported(printed: str) -> dict[str, str]:
    """Returns the variables that a shell has after it evaluated the lines, without those of every shell."""
    script = f"{printed}\nenv -0"
    before = {"PATH": os.environ["PATH"], "AWS_SESSION_TOKEN": "of-another-session"}
    done = subprocess.run(["/bin/sh", "-ec", script], env=before, capture_output=True, text=True, check=True)
    variables = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    return {name: value for name, value in variables.items() if name not in ("PATH", "PWD", "_")}


def call(operation: str, variables: dict[str, str], **body: object) -> tuple[int, dict]:
    url = f"{variables['SERVICE_KVS_URL']}/v1/{operation}"
    content = json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {variables[TABLE]}"}
    if "AWS_ACCESS_KEY_ID" in variables:
        signer = Signer(*(variables[name] for name in sorted(OF_THE_CALLER)))
        fields = signer.sign(url, content, fields, at_seconds=time.time())
    try:
        with urlopen(Request(url, content, fields)) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("dev") / "log"


@pytest.fixture(scope="module")
def printed(log):
    """The output of one gateway, which the tests of this file share."""
    with running(log.parent) as printed:
        yield printed


def test_exported_variables_sign_a_put_and_a_get(printed):
    variables = exported(printed)
    assert variables.keys() == OF_THE_APP | OF_THE_CALLER | OF_COMMANDS
    assert call("put", variables, key="k", value=1) == (200, {"ok": True})
    assert call("get", variables, key="k")[1]["value"] == 1


def test_unsigned_request_is_refused_without_the_option(printed):
    variables = {name: value for name, value in exported(printed).items() if name not in OF_THE_CALLER}
    assert call("get", variables, key="k")[0] == 403


def test_unsigned_accepts_unsigned_requests(tmp_path):
    with running(tmp_path, "--unsigned") as printed:
        variables = exported(printed)
        assert variables.keys() == OF_THE_APP | OF_COMMANDS | {"AWS_SESSION_TOKEN"}
        assert call("put", variables, key="k", value=1) == (200, {"ok": True})


async def test_exported_variables_let_commands_manage_the_gateway(printed, command, monkeypatch):
    for name, value in exported(printed).items():
        monkeypatch.setenv(name, value)
    created = await command("apps", "register", "--org", "o", "--app", "a", "--type", "api")
    assert created.json["app_id"] == "a"


def test_secrets_of_the_environment_are_neither_used_nor_printed(printed, log):
    assert FOREIGN_TOKEN not in printed + log.read_text()


def test_no_published_secret_is_printed_or_accepted(printed):
    variables = exported(printed)
    assert not any(secret in printed for secret in PUBLISHED)
    published = next(secret for secret in PUBLISHED if secret.startswith("kvs_"))
    assert call("get", {**variables, TABLE: published}, key="k")[0] == 401
    asked = Request(
        f"{variables['KVS_CONTROL_URL']}/v1/whoami", headers={"Authorization": "Bearer dev-control-token"}
    )
    with pytest.raises(HTTPError) as refused, urlopen(asked):
        pass
    assert refused.value.code == 401
    refused.value.close()


def test_each_start_has_secrets_of_its_own_which_a_reload_keeps():
    def secrets(file):
        settings = file.load()
        (table, *_) = settings.apps[0].tables
        credentials = settings.signature.credentials
        static = credentials.static[0].secret_access_key
        return [*settings.control.tokens, *credentials.session.master_keys, static, table.token]

    first, second = (DevelopmentFile(port=None, is_signed=True) for _ in range(2))
    drawn = [*secrets(first), *secrets(second)]
    assert len({*drawn, *PUBLISHED}) == len(drawn) + len(PUBLISHED)
    assert secrets(first) == drawn[: len(drawn) // 2]


def test_a_page_that_rebinds_its_name_neither_calls_nor_manages_nor_reads(tmp_path):
    with running(tmp_path, "--unsigned") as printed:
        variables = exported(printed)
        for url, field in (
            (f"{variables['SERVICE_KVS_URL']}/v1/get", f"Bearer {variables[TABLE]}"),
            (f"{variables['KVS_CONTROL_URL']}/v1/whoami", f"Bearer {variables['KVS_CONTROL_TOKEN']}"),
            (f"{variables['KVS_CONTROL_URL']}/console/", ""),
        ):
            method, body = ("POST", b'{"key": "k"}') if url.endswith("/get") else ("GET", None)
            fields = {"Content-Type": "application/json", "Authorization": field, "Host": "rebound.example"}
            with pytest.raises(HTTPError) as refused, urlopen(Request(url, body, fields, method=method)):
                pass
            assert (refused.value.code, json.load(refused.value)["error"]) == (403, "invalid_host")


def test_console_url_is_printed(printed):
    (url,) = [line.split()[-1] for line in printed.splitlines() if line.startswith("# Console:")]
    with urlopen(url) as answer:
        assert (answer.status, answer.headers.get_content_type()) == (200, "text/html")


@pytest.mark.parametrize("port", ["0", "65536", "x"])
async def test_invalid_port_exits_4(command, port):
    result = await command("dev", "--port", port)
    assert (result.code, result.error["error"]) == (4, "usage")
    assert result.error["detail"] == f"argument --port: expected a port from 1 to 65535, not {port!r}"


async def test_print_config_prints_the_example_configuration(command):
    result = await command("dev", "--print-config")
    assert result.out == EXAMPLE.read_text() == (ROOT / "config.example.yaml").read_text()
