"""Configurations and requests of test workloads."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from tests.identity.issuer import token, trusted_from
from tests.support.clock import FakeClock
from tests.support.config import ROLE
from tests.support.gateway import Gateway, Reply
from tests.support.signing import Signer

SHOP = {"org": "acme", "app": "shop", "env": "production"}
TOKEN = "test-workload-token"
OTHER_ROLE = "arn:aws:iam::123456789012:role/managed-app-other"
SUBJECT = "system:serviceaccount:shop:api"
NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
CONTAINER = "/v1/credentials/container"


def configured(*workloads: dict[str, Any], **listener: Any) -> dict[str, Any]:
    """Configures the listener with these workloads, by default one with a token."""
    own = {"tokens": [{"token": TOKEN, "role": ROLE, **SHOP}]}
    return {"listen": {"credentials": {"port": 0, **listener}}, "workloads": [*workloads] or [own]}


async def fetch(gateway: Gateway, token: str | None = TOKEN) -> Reply:
    """Requests credentials as a container does."""
    return await gateway.fetch("GET", CONTAINER, headers={} if token is None else {"Authorization": token})


def signer_of(fetched: Reply) -> Signer:
    given = fetched.json
    return Signer(given["AccessKeyId"], given["SecretAccessKey"], given["Token"])


def vouch(subject: str = SUBJECT, clock: FakeClock | None = None, **changes: Any) -> str:
    """Signs a token for a service account."""
    return token(clock or FakeClock(), "ES256", sub=subject, **changes).decode()


def vouched(folder: Path, *subjects: dict[str, Any], **listener: Any) -> dict[str, Any]:
    """Configures the listener with an issuer whose keys are in a file."""
    own = {"subject": SUBJECT, "role": ROLE, **SHOP}
    tokens = {"tokens": [{"token": TOKEN, "role": ROLE, **SHOP}]}
    return configured({**trusted_from(folder), "subjects": [own, *subjects]}, tokens, **listener)


async def assume(gateway: Gateway, token: str, *, query: str = "", **changes: str | None) -> Reply:
    """Sends a request of STS; a parameter that is None is omitted."""
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": ROLE,
        "RoleSessionName": "session-1",
        "WebIdentityToken": token,
    } | changes
    content = urlencode({name: value for name, value in form.items() if value is not None}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    return await gateway.fetch("POST", f"/{query}", content, headers)


def found(reply: Reply, *names: str) -> list[str | None]:
    """Returns the texts of the elements with these names, at any depth."""
    root = ET.fromstring(reply.body)
    return [root.findtext(f".//{{{NAMESPACE}}}{name}") for name in names]


def signer_in(reply: Reply) -> Signer:
    return Signer(*found(reply, "AccessKeyId", "SecretAccessKey", "SessionToken"))
