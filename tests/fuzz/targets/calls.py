"""Input of callers: signatures, session tokens, table tokens, and fields of the control plane."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

from gateway.controlplane.fields import checked_name, parse_environment, parse_object
from gateway.controlplane.routing import ControlCall
from gateway.credentials.keyring import AccessKey, ApprovedRoles, Keyring
from gateway.credentials.session import SessionCredentials
from gateway.dataplane.policies.binding import TableTokenPolicy
from gateway.dataplane.policies.caller import SignaturePolicy
from gateway.directory.errors import ControlRefusal
from gateway.directory.tokens import is_well_formed
from gateway.domain.call import Call, Headers
from gateway.domain.errors import (
    ExpiredCredentials,
    InvalidCredentials,
    InvalidJson,
    InvalidToken,
    MissingToken,
    SignatureRefusal,
)
from gateway.domain.model import Caller, Operation
from gateway.domain.rules import CallsPerMinute, TableName
from gateway.identity.permissions import Identity, grant_of
from gateway.sigv4 import SignatureRules
from tests.fuzz.oracle import check_detail, secrets_in
from tests.fuzz.targets.coroutines import result_of
from tests.support.clock import FakeClock
from tests.support.config import MASTER_KEY, ROLE
from tests.support.signing import REGION, Signer

OPERATOR = Identity("operator", (grant_of("all", (), ()),))
SECRET = b"test-secret-access-key"
NOW_SECONDS = 1_795_132_800
CLOCK = FakeClock(NOW_SECONDS * 1000)
SESSION = SessionCredentials([MASTER_KEY], CLOCK)
"""Each process issues a token of its own; inputs name it `ISSUED`."""

ISSUED = SESSION.issue(ROLE, 3600, None)
POLICY = SignaturePolicy(
    rules=SignatureRules(region=REGION, public_hosts=frozenset({"kvs.example.com"})),
    keyring=Keyring({"AKIDEXAMPLE": AccessKey(SECRET, Caller(ROLE))}, SESSION),
    roles=ApprovedRoles(["arn:aws:iam::*:role/managed-app-*"]),
    proxy=None,
    clock=CLOCK,
)
BODY = b'{"key":"k"}'
SIGNED = Signer().sign("https://kvs.example.com/v1/get", BODY, {}, at_seconds=NOW_SECONDS)
_BASE_62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def signature(data: bytes) -> None:
    """Target, fields and body as lines: believed only if the one call that was ever signed lies behind it."""
    target, fields_and_body = _line(data)
    top, _, content = fields_and_body.partition(b"\n\n")
    headers = Headers([_field(line) for line in top.split(b"\n")])
    call = Call(Operation.GET, target, headers, content, "127.0.0.1")
    try:
        caller = POLICY.verify(call)
    except SignatureRefusal as refusal:
        check_detail(refusal, SECRET, *secrets_in(SIGNED["Authorization"].encode()), *secrets_in(content))
        return
    assert caller.role == ROLE
    assert content == BODY
    assert headers[b"x-amz-date"] == SIGNED["X-Amz-Date"].encode()
    assert SIGNED["Authorization"].rpartition("=")[2].encode() in headers[b"authorization"]


def session(data: bytes) -> None:
    """A session token: nothing but what was issued opens, and only for its own access key."""
    access_key_id, sent = _line(data)
    known = ISSUED.session_token.encode()
    sent = sent.replace(b"ISSUED", known)
    key_id = access_key_id.replace(b"ISSUED", ISSUED.access_key_id.encode()).decode("latin-1")
    try:
        credentials = SESSION.open(sent, key_id)
    except (InvalidCredentials, ExpiredCredentials) as refusal:
        check_detail(refusal, known, ISSUED.secret_access_key.encode())
        return
    assert (sent, key_id) == (known, ISSUED.access_key_id)
    assert credentials.caller == Caller(ROLE, None, ISSUED.access_key_id)


class _Nobody:
    """Bindings that know no token, and record the last one looked up."""

    asked: bytes | None = None

    async def resolve(self, token: bytes, caller: str) -> None:
        self.asked = token


def token(data: bytes) -> None:
    """The field of a table token; a well-formed one passes an independent check as well."""
    nobody = _Nobody()
    call = Call(Operation.GET, b"/v1/get", Headers([(b"x-kvs-authorization", data)]), b"", "")
    try:
        result_of(TableTokenPolicy(nobody).bind(call, Caller("anyone")))
        raise AssertionError("nobody's token was accepted")
    except (InvalidToken, MissingToken) as refusal:
        check_detail(refusal, *secrets_in(data))
    if nobody.asked is not None:
        assert nobody.asked == nobody.asked.strip() != b""
        assert is_well_formed(nobody.asked) == _is_well_formed(nobody.asked)


def _is_well_formed(token: bytes) -> bool:
    if not re.fullmatch(rb"kvs_[0-9A-Za-z]{49}", token):
        return False
    stated = 0
    for digit in token[-6:].decode():
        stated = stated * 62 + _BASE_62.index(digit)
    return stated == crc32(token[:-6])


def control(data: bytes) -> None:
    """Query and body of a management call."""
    query, content = _line(data)
    with explained():
        environment = parse_environment("acme", "shop", query.decode("latin-1"))
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", environment.env)
    with explained():
        sent = parse_object(content)
        name = checked_name(sent.get("name"), TableName)
        assert re.fullmatch(r"[A-Za-z0-9_]{1,32}", name)
        limit = ControlCall((), "", sent, audit={}, caller=OPERATOR).integer("minute_limit", CallsPerMinute)
        assert limit is None or 1 <= limit <= 1_000_000_000


@contextmanager
def explained() -> Iterator[None]:
    """The end of a call that may be refused."""
    try:
        yield
    except (ControlRefusal, InvalidJson) as refusal:
        check_detail(refusal)


def _line(data: bytes) -> tuple[bytes, bytes]:
    line, _, rest = data.partition(b"\n")
    return line, rest


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value
