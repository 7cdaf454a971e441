"""Requests and uses session credentials in tests."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from tests.support.config import ROLE
from tests.support.gateway import Gateway
from tests.support.signing import Signer

PLACE = {"org": "acme", "app": "shop", "env": "production"}


async def issue(gateway: Gateway, **changes: Any) -> dict[str, Any]:
    """Returns the control plane's answer to a request for session credentials."""
    reply = await gateway.manage("POST", "/v1/credentials", {"role": ROLE} | changes)
    assert reply.status == 200, reply.body
    return reply.json


def signer_of(issued: dict[str, Any]) -> Signer:
    return Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])


async def session_signer(gateway: Gateway, **changes: Any) -> Signer:
    return signer_of(await issue(gateway, **changes))


def decode(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def claims_of(token: str) -> dict[str, Any]:
    return json.loads(decode(token.partition(".")[0]))
