"""Starting, and what keeps a replica from it."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys

import pytest
import yaml

from gateway.replica.run import CannotListen
from tests.support.config import BASE, merged
from tests.support.gateway import run_gateway
from tests.support.raw_client import Connection
from tests.support.servers import wait_for
from tests.support.stopwatch import PATIENCE_SECONDS


def _serve(tmp_path, **changes) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(merged(BASE, changes)))
    command = [sys.executable, "-m", "gateway", "serve", "--config", str(file)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=os.environ
    )


@pytest.mark.parametrize("listener", ["data", "ops", "control"])
def test_a_port_in_use_is_exit_1_with_json(tmp_path, listener):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = _serve(tmp_path, listen={listener: {"port": taken.getsockname()[1]}})
    assert (done.returncode, done.stdout) == (1, "")
    report = json.loads(done.stderr.splitlines()[-1])
    assert report["error"] == "cannot_listen"
    assert f"in use; set another listen.{listener}.port" in report["detail"]


def test_an_address_that_is_not_this_machines_is_exit_1_with_json(tmp_path):
    done = _serve(tmp_path, listen={"ops": {"host": "203.0.113.1"}})
    assert (done.returncode, done.stdout) == (1, "")
    assert '"error": "cannot_listen"' in done.stderr


def test_a_certificate_that_is_none_is_exit_4_and_names_the_key(tmp_path):
    none = tmp_path / "none.pem"
    none.write_text("not a certificate")
    done = _serve(tmp_path, listen={"data": {"tls": {"certificate": str(none), "key": str(none)}}})
    assert (done.returncode, done.stdout) == (4, "")
    assert '"path": "listen.data.tls"' in done.stderr


def test_the_first_line_says_where_the_listeners_are_and_the_last_word_is_0(start):
    gateway = start()
    assert set(gateway.urls) == {"data", "ops", "control"}
    with Connection(gateway.urls["data"]) as client:
        assert client.call()[0] == 200
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0


def test_two_replicas_with_two_configurations_run_side_by_side(start):
    first, second = start(region="eu-central-1"), start(region="eu-west-1", limits={"key_bytes": 1})
    for gateway, status in ((first, 200), (second, 400)):
        with Connection(gateway.urls["data"]) as client:
            assert client.call(key="kk")[0] == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_replica_that_was_never_ready_ends_with_the_reason(start, number):
    gateway = start(store={"kind": "redis", "url": "redis://127.0.0.1:1/0"})
    wait_for(lambda: "dependency is down" in gateway.log.read_text(), "its store is not asked")
    gateway.signal(number)
    assert gateway.wait() == 5
    said = json.loads(gateway.log.read_text().splitlines()[-1])
    assert (said["level"], said["error"]) == ("critical", "never_ready")
    assert set(said["dependencies"]) == {"store", "counters", "directory"}
    assert all(said["dependencies"].values())


def test_two_replicas_share_a_port_only_if_both_say_so(start, tmp_path):
    first = start(listen={"data": {"reuse_port": True}})
    port = int(first.urls["data"].rsplit(":", 1)[1])
    second = start(listen={"data": {"reuse_port": True, "port": port}})
    assert first.urls["data"] == second.urls["data"]
    assert _serve(tmp_path, listen={"data": {"port": port}}).returncode == 1


def test_every_line_of_the_log_is_json(start):
    gateway = start()
    gateway.signal(signal.SIGTERM)
    gateway.wait()
    lines = [json.loads(line) for line in gateway.log.read_text().splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({}, "the memory store serves one replica only"),
        ({"signature": {"mode": "off"}}, "signature.mode is off"),
        ({"control": {"tokens": []}}, "control.tokens is empty"),
    ],
)
async def test_a_start_warns_of_risky_settings(caplog, changes, warning):
    async with run_gateway(changes):
        pass
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any(warning in message for message in warnings)


async def test_a_replica_that_cannot_listen_leaves_nothing_running():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match="in use"):
            async with run_gateway({"listen": {"control": {"port": port}}}):
                pass


def test_collections_of_garbage_leave_out_what_the_start_has_made(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(BASE))
    program = (
        "import atexit, gc; from gateway.cli.main import main; "
        "atexit.register(lambda: print(gc.get_freeze_count())); main()"
    )
    command = [sys.executable, "-c", program, "serve", "--config", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert json.loads(process.stdout.readline())["listening"]
        process.send_signal(signal.SIGINT)
        frozen = process.stdout.read()
    assert int(frozen) > 10_000
