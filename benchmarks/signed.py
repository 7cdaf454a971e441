"""Pre-signed requests for the bench, signed by botocore, and the gateway that takes them."""

from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from benchmarks.exchange import KEYS, VALUE, Exchange

ACCESS_KEY_ID = "AKIDBENCH"
SECRET = "bench-secret-access-key"
REGION = "eu-central-1"
TOKEN = "bench-table-token"
CONTROL_TOKEN = "bench-control-token"


def gateway_config(port: int, ops_port: int, store: dict[str, Any]) -> dict[str, Any]:
    """The gateway with everything on: both layers, limiter (too high to refuse), metering."""
    role = "arn:aws:iam::123456789012:role/managed-app-bench"
    credential = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET, "role": role}
    return {
        "region": REGION,
        "listen": {
            "data": {"port": port, "reuse_port": True},
            "ops": {"port": ops_port},
            "control": {"port": 0},
        },
        "control": {"tokens": [CONTROL_TOKEN]},
        "store": store,
        "signature": {"clock_skew_seconds": 900, "credentials": {"static": [credential]}},
        "rate_limit": {"requests_per_minute": 1_000_000_000},
        "apps": [{"org": "o", "app": "a", "type": "api", "tables": [{"name": "t", "token": TOKEN}]}],
    }


def signed_exchanges(port: int, operation: str, value: bytes = VALUE) -> list[Exchange]:
    """One for each key; a get finds what the put has left."""
    url = f"http://127.0.0.1:{port}/v1/{operation}"
    if operation == "put":
        return [_signed(url, b'{"key":"%b","value":%b}' % (key, value), b'{"ok":true}') for key in KEYS]
    found = b'{"found":true,"value":%b,"expiresAt":null}' % value
    return [_signed(url, b'{"key":"%b"}' % key, found) for key in KEYS]


def _signed(url: str, body: bytes, answer: bytes) -> Exchange:
    headers = {
        "Host": url.split("/")[2],
        "Content-Type": "application/json",
        "X-KVS-Authorization": f"Bearer {TOKEN}",
    }
    request = AWSRequest("POST", url, data=body, headers=headers)
    SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET), "execute-api", REGION).add_auth(request)
    fields = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    path = "/" + url.split("/", 3)[3]
    head = f"POST {path} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    return Exchange(head.encode() + body, answer)
