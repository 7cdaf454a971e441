"""Typical mistakes of app developers, each as sent, and its explanation (D168)."""

import json
import re

import pytest

from tests.contract.mistakes import MISTAKES, Mistake
from tests.support.config import MASTER_KEY
from tests.support.gateway import run_gateway
from tests.support.signing import Signer

SECRETS = (MASTER_KEY, "test-secret-access-key")


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
async def test_a_typical_mistake_is_explained(mistake):
    async with run_gateway(mistake.configuration) as gateway:
        for _ in range(mistake.calls_before):
            assert (await gateway.get("k")).status == 200
        reply = await send(gateway, mistake)
    fields = reply.headers.get("x-kvs-error-detail"), reply.headers.get("x-kvs-warning")
    expected = mistake.detail.replace("HOST", gateway.data.removeprefix("http://"))
    assert (reply.status, reply.error, *fields) == (
        mistake.status,
        mistake.code,
        expected or None,
        mistake.warning,
    )
    assert all(re.fullmatch("[ -~]{1,256}", each) for each in fields if each is not None)


async def send(gateway, mistake: Mistake):
    """The call as the developer's code sends it, and as it arrives."""
    url = gateway.data + (mistake.path or f"/v1/{mistake.operation}")
    body = mistake.body if isinstance(mistake.body, bytes) else json.dumps(mistake.body).encode()
    fields = {"Content-Type": "application/json", **mistake.headers}
    if mistake.token is not None:
        fields["X-KVS-Authorization"] = mistake.token
    if mistake.signer is not None:
        signer = await signer_of(gateway, mistake)
        at_seconds = gateway.clock.wall_ms() / 1000 + mistake.clock_off_seconds
        fields = signer.sign(url, body, fields, at_seconds=at_seconds, method=mistake.method)
    for name, value in mistake.late_headers.items():
        fields.pop(name, None)
        if value is not None:
            fields[name] = value
    gateway.clock.advance(mistake.wait_seconds * 1000)
    late_body = body if mistake.late_body is None else mistake.late_body
    return await gateway._send(mistake.method, url, late_body, fields)


async def signer_of(gateway, mistake: Mistake) -> Signer:
    """The developer's signer; `session` is signed with credentials that were issued for them."""
    if mistake.session is None:
        return Signer().but(**mistake.signer)
    role = "arn:aws:iam::123456789012:role/managed-app-test"
    issued = (await gateway.manage("POST", "/v1/credentials", {"role": role, **mistake.session})).json
    return Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"]).but(
        **mistake.signer
    )
