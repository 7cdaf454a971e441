"""Control tokens, issuers and workloads leave a call as it is: the same functions, in the same order."""

import sys
from collections import Counter

import pytest

from tests.credentialsplane.workloads import fetch, vouch, vouched
from tests.identity.issuer import token, trusted_from
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway
from tests.support.wire import read_reply, signed_call

ROOMS = (
    "/gateway/dataplane/",
    "/gateway/http/",
    "/gateway/sigv4/",
    "/gateway/credentials/",
    "/gateway/domain/",
)
IDENTITIES = ("/gateway/identity/", "/gateway/credentialsplane/", "/gateway/controlplane/")
TIMERS = ("/gateway/http/fence.py",)
"""Files whose functions a timer may run beside any call."""

BODIES = {"put": b'{"key":"k","value":1}', "get": b'{"key":"k"}', "delete": b'{"key":"k"}'}


def everybody(folder):
    """Named tokens, an issuer for people and workloads, the credentials listener."""
    rules = [{"claim": "sub", "value": "ada", "allow": "all"}]
    tokens = [CONTROL_TOKEN, {"name": "reader", "token": "a-token-of-a-reader", "allow": ["read"]}]
    return vouched(folder) | {
        "control": {"tokens": tokens, "oidc": [{**trusted_from(folder), "rules": rules}]}
    }


async def functions_of(gateway, operation: str) -> list[str]:
    """Functions of the gateway that a call on a warm connection runs through, in order."""
    call = signed_call(gateway, operation, BODIES[operation], extra=())
    reader, writer = await gateway.connect()
    for _ in range(3):
        writer.write(call)
        await read_reply(reader)
    called: list[str] = []

    def note(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and any(room in file for room in ROOMS + IDENTITIES) and not file.endswith(TIMERS):
            called.append(f"{file.partition('/gateway/')[2]}: {frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        writer.write(call)
        reply = await read_reply(reader)
    finally:
        sys.setprofile(None)
    writer.close()
    assert reply.status == 200
    return called


@pytest.mark.parametrize("operation", BODIES)
async def test_a_call_runs_through_the_same_functions_with_identities_and_without(operation, tmp_path):
    async with run_gateway() as gateway:
        without = await functions_of(gateway, operation)
    async with run_gateway(everybody(tmp_path)) as gateway:
        assert (await gateway.manage("GET", "/v1/whoami", token=token(gateway.clock).decode())).status == 200
        assert (await fetch(gateway, vouch())).status == 200
        with_identities = await functions_of(gateway, operation)
    assert "dataplane/pipeline.py: Pipeline.serve" in without
    assert Counter(with_identities) == Counter(without)
    assert with_identities == without
    assert not any(f"/gateway/{each}".startswith(IDENTITIES) for each in with_identities)
