"""Input of workloads that fetch credentials: the form of STS, and the token of the container endpoint."""

import re
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from gateway.credentials.session import IssuedSession
from gateway.credentialsplane import sts
from gateway.credentialsplane.container import token_in
from gateway.credentialsplane.errors import InvalidIdentity, InvalidParameter, UnknownAction, WorkloadRefusal
from gateway.credentialsplane.parameters import parse_parameters
from gateway.credentialsplane.workloads import Workload
from gateway.domain.call import Headers
from gateway.domain.model import Environment
from tests.support.config import ROLE

_NAMESPACE = f"{{{sts.NAMESPACE}}}"
_SESSION = IssuedSession("ASIA0123456789ABCDEF", "secret", "claims.proof", 1_795_132_800)


def web_identity(data: bytes) -> None:
    """Query and body of a form: accepted as sent, and answered in XML that repeats it."""
    query, _, body = data.partition(b"\n")
    try:
        wanted = parse_parameters(query, body)
    except (UnknownAction, InvalidParameter) as refusal:
        _assert_refused(refusal)
        return
    sent = unquote_plus(f"{query.decode()}&{body.decode()}")
    assert wanted.role in sent
    assert wanted.token.decode() in sent
    assert re.fullmatch(r"[A-Za-z0-9_+=,.@-]{2,64}", wanted.session_name)
    assert wanted.duration_seconds is None or 0 <= wanted.duration_seconds < 1_000_000_000
    subject = "a <subject> & one"
    workload = Workload(ROLE, Environment("acme", "shop", "production"), subject, "https://issuer", "kvs")
    answer = ET.fromstring(sts.assumed(workload, wanted.session_name, _SESSION, "<id>&"))
    assert answer.findtext(f".//{_NAMESPACE}SubjectFromWebIdentityToken") == subject
    assert (answer.findtext(f".//{_NAMESPACE}Arn") or "").endswith(f"/{wanted.session_name}")


def sts_response(data: bytes) -> None:
    """Role, subject, issuer, session name and id of a request: the response is XML, whatever they are."""
    texts = data.decode("utf-8", "replace").split("\n")
    role, subject, issuer, name, request_id = (texts + [""] * 5)[:5]
    workload = Workload(role, Environment("acme", "shop", "production"), subject, issuer, issuer)
    answer = ET.fromstring(sts.assumed(workload, name, _SESSION, request_id))
    for element, text in (
        ("SubjectFromWebIdentityToken", subject),
        ("Provider", issuer),
        ("RequestId", request_id),
    ):
        if text.isprintable():
            assert (answer.findtext(f".//{_NAMESPACE}{element}") or "") == text
    refusal = ET.fromstring(sts.refused(role, subject, is_ours=True, request_id=request_id))
    assert refusal.findtext(f".//{_NAMESPACE}Type") == "Receiver"


def _assert_refused(refusal: WorkloadRefusal) -> None:
    """Checks that the message is one of the project's own, and quotes no input."""
    body = sts.refused(refusal.sts_code, refusal.message or "", is_ours=False, request_id="id")
    assert ET.fromstring(body).findtext(f".//{_NAMESPACE}Message") == refusal.message


def container(data: bytes) -> None:
    """The field `Authorization`: without its scheme, or refused."""
    try:
        token = token_in(Headers([(b"authorization", data)]))
    except InvalidIdentity:
        return
    assert token
    assert data.strip().endswith(token)
