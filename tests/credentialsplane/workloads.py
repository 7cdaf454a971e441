"""Workloads as tests configure them, and what they fetch."""

from typing import Any

from tests.support.config import ROLE
from tests.support.gateway import Gateway, Reply
from tests.support.signing import Signer

SHOP = {"org": "acme", "app": "shop", "env": "production"}
TOKEN = "test-workload-token"
OTHER_ROLE = "arn:aws:iam::123456789012:role/managed-app-other"
CONTAINER = "/v1/credentials/container"


def configured(*workloads: dict[str, Any], **listener: Any) -> dict[str, Any]:
    """The listener with these workloads, or with one that has a token."""
    own = {"tokens": [{"token": TOKEN, "role": ROLE, **SHOP}]}
    return {"listen": {"credentials": {"port": 0, **listener}}, "workloads": [*workloads] or [own]}


async def fetch(gateway: Gateway, token: str | None = TOKEN) -> Reply:
    """Ask as a container does."""
    return await gateway.fetch("GET", CONTAINER, headers={} if token is None else {"Authorization": token})


def signer_of(fetched: Reply) -> Signer:
    given = fetched.json
    return Signer(given["AccessKeyId"], given["SecretAccessKey"], given["Token"])
