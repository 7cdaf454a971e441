"""Renders responses in the XML of STS."""

import re
from base64 import b32encode
from datetime import UTC, datetime
from hashlib import sha256
from xml.sax.saxutils import escape

from gateway.credentials.session import IssuedSession
from gateway.credentialsplane.workloads import Workload

NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"

_NO_CHARACTER = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, and the carriage return, which parsers normalize."""

Element = tuple[str, "str | list[Element]"]
"""A name, and text or elements inside."""


def assumed(workload: Workload, session_name: str, issued: IssuedSession, request_id: str) -> bytes:
    """Renders the response to a successful `AssumeRoleWithWebIdentity`."""
    role_id = "AROA" + b32encode(sha256(workload.role.encode()).digest()).decode()[:17]
    result: list[Element] = [
        ("SubjectFromWebIdentityToken", workload.subject),
        ("Audience", workload.audience or ""),
        (
            "AssumedRoleUser",
            [
                ("Arn", _session_arn(workload.role, session_name)),
                ("AssumedRoleId", f"{role_id}:{session_name}"),
            ],
        ),
        (
            "Credentials",
            [
                ("AccessKeyId", issued.access_key_id),
                ("SecretAccessKey", issued.secret_access_key),
                ("SessionToken", issued.session_token),
                ("Expiration", instant(issued.expires_at_seconds)),
            ],
        ),
        ("Provider", workload.issuer or ""),
    ]
    return _document(
        "AssumeRoleWithWebIdentityResponse",
        [
            ("AssumeRoleWithWebIdentityResult", result),
            ("ResponseMetadata", [("RequestId", request_id)]),
        ],
    )


def refused(code: str, message: str, *, is_ours: bool, request_id: str) -> bytes:
    """Renders a refusal; `is_ours` marks a fault of the gateway rather than of the sender."""
    kind = "Receiver" if is_ours else "Sender"
    error: list[Element] = [("Type", kind), ("Code", code), ("Message", message)]
    return _document("ErrorResponse", [("Error", error), ("RequestId", request_id)])


def instant(seconds: int) -> str:
    """Formats seconds since 1970 as AWS does: `2026-11-20T00:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _session_arn(role: str, session_name: str) -> str:
    """Returns the ARN that STS gives to a session of the role."""
    begin, _, path = role.partition(":role/")
    if not path:
        return f"{role}/{session_name}"
    name = path.rpartition("/")[2]
    return f"{begin.replace(':iam:', ':sts:', 1)}:assumed-role/{name}/{session_name}"


def _document(root: str, content: list[Element]) -> bytes:
    return f'<{root} xmlns="{NAMESPACE}">{_inside(content)}</{root}>'.encode()


def _inside(content: str | list[Element]) -> str:
    if isinstance(content, str):
        return escape(_NO_CHARACTER.sub("\ufffd", content))
    return "".join(f"<{name}>{_inside(each)}</{name}>" for name, each in content)
