"""Pre-signed requests for the bench, signed by botocore, with values of 1 KiB."""

import json
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ACCESS_KEY_ID = "AKIDBENCH"
SECRET = "bench-secret-access-key"
REGION = "eu-central-1"
TOKEN = "bench-table-token"
KEYS = 1024
VALUE_BYTES = 1024


def gateway_config(port: int) -> dict[str, Any]:
    """The gateway with everything on: both layers, limiter (too high to refuse), metering."""
    role = "arn:aws:iam::123456789012:role/managed-app-bench"
    credential = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET, "role": role}
    return {
        "region": REGION,
        "listen": {"data": {"port": port}, "ops": {"port": 0}, "control": {"port": 0}},
        "signature": {"credentials": {"static": [credential]}},
        "rate_limit": {"requests_per_minute": 1_000_000_000},
        "apps": [{"org": "o", "app": "a", "type": "api", "tables": [{"name": "t", "token": TOKEN}]}],
    }


def signed_requests(port: int, operation: str) -> bytes:
    """All requests of one operation, each behind its length, as `benchmarks.load` reads them."""
    framed = b""
    for number in range(KEYS):
        body: dict[str, object] = {"key": f"user:{number}"}
        if operation == "put":
            body["value"] = "x" * (VALUE_BYTES - 2)
        request = _sign(f"http://127.0.0.1:{port}/v1/{operation}", json.dumps(body).encode())
        framed += len(request).to_bytes(4, "big") + request
    return framed


def _sign(url: str, body: bytes) -> bytes:
    headers = {
        "Host": url.split("/")[2],
        "Content-Type": "application/json",
        "X-KVS-Authorization": f"Bearer {TOKEN}",
    }
    request = AWSRequest("POST", url, data=body, headers=headers)
    SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET), "execute-api", REGION).add_auth(request)
    fields = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    path = "/" + url.split("/", 3)[3]
    return f"POST {path} HTTP/1.1\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body
