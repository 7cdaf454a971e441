"""Outgoing Signature V4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).

Only what a POST of DynamoDB's JSON protocol needs: path `/`, no query, a fixed list of headers.
"""

import hmac
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime

from msgspec import Struct

_ALGORITHM = "AWS4-HMAC-SHA256"
_TARGET_PREFIX = "DynamoDB_20120810."


class Credentials(Struct, frozen=True):
    """A key to sign with. `token` is None for those that do not expire."""

    access_key_id: str
    secret: str
    token: str | None

    def __repr__(self) -> str:
        return "Credentials(...)"


class Signer:
    """Signs for one region and host. `wall_ms` is the wall clock."""

    def __init__(self, region: str, host: str, wall_ms: Callable[[], int]) -> None:
        self._region = region
        self._host = host
        self._wall_ms = wall_ms

    def headers(self, credentials: Credentials, action: str, body: bytes) -> dict[str, str]:
        """All headers of a request."""
        instant = strftime("%Y%m%dT%H%M%SZ", gmtime(self._wall_ms() // 1000))
        headers = {"host": self._host, "x-amz-date": instant}
        if credentials.token is not None:
            headers["x-amz-security-token"] = credentials.token
        headers["x-amz-target"] = _TARGET_PREFIX + action
        names = ";".join(headers)
        fields = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"POST\n/\n\n{fields}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{instant[:8]}/{self._region}/dynamodb/aws4_request"
        text = f"{_ALGORITHM}\n{instant}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        key = _signing_key(credentials.secret, instant[:8], self._region)
        headers["authorization"] = (
            f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, "
            f"SignedHeaders={names}, Signature={_hmac(key, text).hex()}"
        )
        headers["content-type"] = "application/x-amz-json-1.0"
        return headers


@lru_cache(maxsize=8)
def _signing_key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, "dynamodb", "aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
