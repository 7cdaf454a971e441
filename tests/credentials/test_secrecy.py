"""No secret, token, key or value appears in a log, a refusal or a printed object."""

import logging

from gateway.credentials.keyring import AccessKey
from gateway.credentials.session import SessionCredentials
from gateway.domain.call import Headers
from gateway.domain.model import Caller
from gateway.observability.logs import JsonFormatter
from gateway.sigv4 import SignatureRules, examine
from tests.credentials.sessions import issue, signer_of
from tests.sigv4.wire import SECRET, signed
from tests.support.clock import FakeClock
from tests.support.config import CONTROL_TOKEN, MASTER_KEY, OTHER_TABLE_TOKEN, ROLE, TABLE_TOKEN
from tests.support.gateway import run_gateway
from tests.support.signing import REGION, Signer

PROXY_SECRET = "the-secret-of-the-proxy"
KNOWN = (SECRET, MASTER_KEY, TABLE_TOKEN, OTHER_TABLE_TOKEN, CONTROL_TOKEN, PROXY_SECRET)
CHANGES = {
    "logging": {"access": 1.0, "level": "debug"},
    "signature": {
        "approved_roles": ["arn:aws:iam::123456789012:role/managed-app-*"],
        "credentials": {"trusted_proxy": {"secret": PROXY_SECRET}},
    },
}


async def use(gateway) -> tuple[list[bytes], list[str]]:
    """Makes calls of every kind; returns the bodies of refusals and the issued secrets."""
    issued = await issue(gateway)
    signer = signer_of(issued)
    tampered = signer.but(session_token=signer.session_token[:-2])
    with_proxy = {"X-KVS-Proxy-Secret": PROXY_SECRET, "X-KVS-Caller-Arn": "arn:aws:iam::1:role/stranger"}
    replies = [
        await gateway.put("secret-key", "secret-value", signer=signer),
        await gateway.put("secret-key", "secret-value", signer=tampered),
        await gateway.put("secret-key", "secret-value", signer=signer.but(secret_access_key="wrong")),
        await gateway.put("secret-key", "secret-value", signer=gateway.signer.but(secret_access_key="wrong")),
        await gateway.put("secret-key", "secret-value", signer=gateway.signer.but(region="us-east-1")),
        await gateway.put("secret-key", "secret-value", token=TABLE_TOKEN + "x"),
        await gateway.put("secret-key", "secret-value", signer=None, headers=with_proxy),
        await gateway.call("put", b'{"key": "secret-key", "value": "secret-value"', signer=signer),
        await signed(gateway).edit("Credential=", "Credential").send(gateway),
        await gateway.manage("POST", "/v1/credentials", {"role": "arn:aws:iam::1:role/stranger"}),
        await gateway.manage("POST", "/v1/credentials", {"role": ROLE}, token=CONTROL_TOKEN + "x"),
    ]
    gateway.faults.fail = {"*"}
    replies.append(await gateway.put("secret-key", "secret-value"))
    assert [reply.status for reply in replies] == [200, *[403] * 4, 401, 403, 400, 403, 422, 401, 503]
    return [reply.body for reply in replies], [issued["SecretAccessKey"], issued["SessionToken"]]


async def test_nothing_secret_is_logged_or_returned(caplog):
    caplog.set_level(logging.DEBUG)
    async with run_gateway(CHANGES) as gateway:
        bodies, handed_out = await use(gateway)
    formatter = JsonFormatter()
    # botocore signs for the client here and logs every detail
    records = [record for record in caplog.records if not record.name.startswith("botocore")]
    logged = "\n".join(map(formatter.format, records))
    assert "credentials.issue" in logged
    assert '"status": 403' in logged
    shown = logged + b"\n".join(bodies).decode()
    for secret in (*KNOWN, *handed_out, "secret-key", "secret-value"):
        assert secret not in shown


def test_printed_credentials_do_not_show_their_secret():
    credentials = AccessKey(SECRET.encode(), Caller(ROLE))
    assert ROLE in repr(credentials)
    assert SECRET not in repr(credentials) + str(credentials) + f"{[credentials]}"


def test_a_printed_session_shows_neither_secret_nor_token():
    sessions = SessionCredentials([MASTER_KEY], FakeClock(0))
    issued = sessions.issue(ROLE, 900, None)
    sessions.open(issued.session_token.encode(), issued.access_key_id)
    shown = f"{issued} {issued!r} {sessions!r} {sessions._opened!r}"
    for secret in (issued.secret_access_key, MASTER_KEY):
        assert secret not in shown
    assert issued.session_token not in f"{issued} {issued!r}"


def test_a_printed_claim_does_not_show_its_session_token():
    signer = Signer(session_token="the-session-token")
    fields = signer.sign("http://kvs/v1/put", b"", {}, at_seconds=0)
    headers = Headers([(name.encode(), value.encode()) for name, value in fields.items()])
    claim = examine(b"POST", b"/v1/put", headers, b"", rules=SignatureRules(region=REGION), now_seconds=0)
    assert claim.session_token == b"the-session-token"
    assert "the-session-token" not in f"{claim} {claim!r} {headers} {headers!r}"
