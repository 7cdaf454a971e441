"""Signs requests with botocore's own Signature V4, at any instant; no code of the gateway takes part."""

import datetime as dt
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "eu-central-1"


@contextmanager
def _botocore_at(seconds: float):
    """Let botocore believe that it is this moment."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    original = botocore.auth.get_current_datetime
    botocore.auth.get_current_datetime = lambda *_, **__: moment
    try:
        yield
    finally:
        botocore.auth.get_current_datetime = original


@dataclass(frozen=True)
class Signer:
    """Signs with one identity. `sign` returns all header fields that have to be sent."""

    access_key_id: str = "AKIDEXAMPLE"
    secret_access_key: str = "test-secret-access-key"
    session_token: str | None = None
    region: str = REGION
    service: str = "execute-api"
    extra: dict[str, str] = field(default_factory=dict)

    def but(self, **changes) -> "Signer":
        return replace(self, **changes)

    def sign(
        self, url: str, body: bytes, headers: dict[str, str], *, at_seconds: float, method: str = "POST"
    ) -> dict[str, str]:
        request = AWSRequest(method=method, url=url, data=body, headers={**headers, **self.extra})
        credentials = Credentials(self.access_key_id, self.secret_access_key, self.session_token)
        with _botocore_at(at_seconds):
            botocore.auth.SigV4Auth(credentials, self.service, self.region).add_auth(request)
        signed = dict(request.headers.items())
        signed.setdefault("Host", url.split("/")[2])
        return signed
