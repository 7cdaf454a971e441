"""The file says whether, how much and where to; the environment only adds what the file does not say."""

import json
import signal
import ssl
import subprocess
import sys

import pytest
import trustme
import yaml

from tests.support.config import BASE, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.support.receiver import Receiver
from tests.support.stopwatch import PATIENCE_SECONDS

FOREIGN = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces",
    "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "0.000001",
    "OTEL_EXPORTER_OTLP_HEADERS": "x-both=environment,x-added=yes",
    "OTEL_TRACES_SAMPLER": "always_off",
    "OTEL_BSP_SCHEDULE_DELAY": "3600000",
    "OTEL_BSP_MAX_QUEUE_SIZE": "1",
    "OTEL_SERVICE_NAME": "other",
    "OTEL_RESOURCE_ATTRIBUTES": "service.name=another,k8s.pod.name=pod-1",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
    "NO_PROXY": "",
    "no_proxy": "",
}

SERVE_ONE = """
import asyncio, sys
from tests.support.gateway import run_gateway

async def main():
    async with run_gateway() as gateway:
        assert (await gateway.put("k", 1)).status == 200

asyncio.run(main())
print([name for name in sys.modules if name.split(".")[0] in ("opentelemetry", "requests", "google")])
"""

WITHOUT_THE_EXTRA = """
import sys
sys.modules["opentelemetry"] = None
from gateway.cli.main import main
sys.exit(main([sys.argv[1], "--config", sys.argv[2]]))
"""


async def _serve_one(receiver, folder, env, **tracing):
    settings = {"endpoint": receiver.url, "share": 1, **tracing}
    with GatewayProcess(merged(BASE, {"tracing": settings}), folder, env) as process:
        async with client_of(process) as gateway:
            assert (await gateway.get("k")).status == 200
        process.signal(signal.SIGTERM)
        assert process.wait() == 0
        return process.log.read_text()


async def test_the_environment_does_not_override_the_file(receiver, tmp_path):
    headers = {"X-Both": "file"}
    await _serve_one(receiver, tmp_path, FOREIGN, service_name="kvs-test", headers=headers)
    assert len(receiver.spans) == 2
    assert receiver.resource["service.name"] == "kvs-test"
    assert receiver.headers[0]["x-both"] == "file"


async def test_the_environment_adds_attributes_and_headers(receiver, tmp_path):
    await _serve_one(receiver, tmp_path, FOREIGN)
    assert receiver.resource["service.name"] == "kvs-gateway"
    assert receiver.resource["k8s.pod.name"] == "pod-1"
    assert receiver.headers[0]["x-added"] == "yes"


async def test_opentelemetrys_own_switch_is_obeyed_and_logged(receiver, tmp_path):
    log = await _serve_one(receiver, tmp_path, {"OTEL_SDK_DISABLED": "true"})
    assert receiver.bodies == []
    assert "OTEL_SDK_DISABLED is set: nothing is traced" in log


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_receiver_with_tls_has_to_show_a_certificate_of_a_known_authority(tmp_path, is_known):
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    known = tmp_path / "authority.pem"
    (authority if is_known else trustme.CA()).cert_pem.write_to_path(known)
    with Receiver(tls) as receiver:
        log = await _serve_one(receiver, tmp_path, {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(known)})
    assert len(receiver.spans) == (2 if is_known else 0)
    assert ('"SSLError"' in log) != is_known


def test_where_traces_are_off_nothing_of_opentelemetry_is_imported():
    ended = subprocess.run([sys.executable, "-c", SERVE_ONE], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["check", "serve"])
def test_without_the_extra_traces_are_a_mistake_in_the_file(tmp_path, command):
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(merged(BASE, {"tracing": {}})))
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_EXTRA, command, str(file)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 4
    (problem,) = json.loads(ended.stderr)["problems"]
    assert problem == {"path": "tracing", "problem": "needs pip install 'kvs-gateway[otel]'"}
