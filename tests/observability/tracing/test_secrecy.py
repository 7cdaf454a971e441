"""Exported traces hold no secret, and the receiver's own secret reaches nobody else."""

import json
import signal

from tests.support.config import BASE, CONTROL_TOKEN, TABLE_TOKEN, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess

SECRET = "canary-receiver-password"


async def test_exported_spans_hold_no_token_secret_key_or_value(traced, receiver):
    async with traced() as gateway:
        client = {"tracestate": "canary=1", "cookie": "canary", "user-agent": "canary"}
        await gateway.put("canary-key", "canary-value", headers=client)
        await gateway.get("canary-key", path="/v1/get?canary=1")
        await gateway.get("canary-key", token="canary-token")
        await gateway.call("put", b'{"key": "canary')
        await gateway.call("get", {}, path="/canary/path")
        await gateway.send_raw(b"PROPFIND /canary HTTP/1.1\r\nHost: canary\r\nConnection: close\r\n\r\n")
        gateway.faults.fail = {"*"}
        await gateway.put("canary-key", "canary-value")
    sent = b"".join(receiver.bodies)
    assert len(receiver.requests()) == 7
    for secret in (b"canary", TABLE_TOKEN.encode(), CONTROL_TOKEN.encode(), b"127.0.0.1"):
        assert secret not in sent
    assert b"test-secret-access-key" not in sent
    assert b"AKIDEXAMPLE" not in sent


async def test_a_receivers_password_is_sent_to_it_and_is_in_no_log(receiver, tmp_path):
    receiver.statuses = [401, 503, 429, 302]
    tracing = {"endpoint": receiver.url, "share": 1, "headers": {"X-Password": "${PASSWORD}"}}
    config = merged(BASE, {"tracing": tracing, "logging": {"level": "debug"}})
    with GatewayProcess(config, tmp_path, {"PASSWORD": SECRET}) as process:
        async with client_of(process) as gateway:
            assert (await gateway.get("k")).status == 200
        process.signal(signal.SIGTERM)
        assert process.wait() == 0
        log = process.log.read_text()
    assert receiver.headers[0]["x-password"] == SECRET
    assert SECRET not in log
    lost = [line for line in map(json.loads, log.splitlines()) if line["message"] == "traces are lost"]
    assert [line["reason"] for line in lost] == ["status 401"]
