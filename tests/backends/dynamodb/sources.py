"""Sources of credentials in tests, and a check that a store uses them."""

import asyncio
import datetime as dt
import json

from botocore.credentials import Credentials

from backends.errors import BackendMisconfigured, BackendUnavailable
from tests.backends.dynamodb.scripted import WRITES
from tests.support.dynamodb import REGION
from tests.support.dynamodb.answers import Answer

PUT = WRITES["put"][1]
FIRST = Credentials("AKIDFIRST", "first/secret+", "first token/+=")
SECOND = Credentials("AKIDSECOND", "second/secret+", "second token/+=")
LASTING = Credentials("AKIDLASTING", "lasting/secret+")
ROLE = "arn:aws:iam::123456789012:role/kvs"


def in_environment(patch, found: Credentials) -> None:
    patch.setenv("AWS_ACCESS_KEY_ID", found.access_key)
    patch.setenv("AWS_SECRET_ACCESS_KEY", found.secret_key)
    if found.token:
        patch.setenv("AWS_SESSION_TOKEN", found.token)


def in_file(folder, found: Credentials, profile: str = "default") -> None:
    lines = [
        f"[{profile}]",
        f"aws_access_key_id = {found.access_key}",
        f"aws_secret_access_key = {found.secret_key}",
        *([f"aws_session_token = {found.token}"] if found.token else []),
    ]
    new = folder / "new"
    new.write_text("\n".join(lines))
    new.rename(folder / "AWS_SHARED_CREDENTIALS_FILE")


def end_in(minutes: float) -> str:
    end = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def from_sts(found: Credentials, minutes: float = 60) -> Answer:
    return Answer(
        f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>{found.access_key}</AccessKeyId><SecretAccessKey>{found.secret_key}</SecretAccessKey>
        <SessionToken>{found.token}</SessionToken><Expiration>{end_in(minutes)}</Expiration>
        </Credentials><AssumedRoleUser><Arn>{ROLE}/x</Arn><AssumedRoleId>I:x</AssumedRoleId></AssumedRoleUser>
        </AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
        </AssumeRoleWithWebIdentityResponse>""".encode(),
        content_type="text/xml",
    )


def from_container(found: Credentials, minutes: float = 60) -> Answer:
    body = {
        "AccessKeyId": found.access_key,
        "SecretAccessKey": found.secret_key,
        "Token": found.token,
        "Expiration": end_in(minutes),
    }
    return Answer(json.dumps(body).encode(), content_type="application/json")


class Irsa:
    """A service account's token, exchanged at STS."""

    operation = "POST /"
    first_calls = 1
    answer = staticmethod(from_sts)

    def __init__(self, patch, folder, source) -> None:
        self.token_file = folder / "web identity"
        self.token_file.write_text("a-token-of-the-cluster")
        patch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(self.token_file))
        patch.setenv("AWS_ROLE_ARN", ROLE)
        patch.setenv("AWS_ENDPOINT_URL_STS", source.endpoint_url)
        patch.setenv("AWS_MAX_ATTEMPTS", "1")

    def is_asked_by(self, call) -> bool:
        """With what is in the file now."""
        return f"WebIdentityToken={self.token_file.read_text()}&".encode() in call.body + b"&"


class PodIdentity:
    """Credentials that the node's agent returns."""

    operation = "GET /v1/credentials"
    first_calls = 2
    """aiobotocore asks again for those that end soon before it hands them out at all."""
    answer = staticmethod(from_container)

    def __init__(self, patch, folder, source) -> None:
        self.token_file = folder / "pod identity"
        self.token_file.write_text("a-token-of-the-pod")
        patch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{source.endpoint_url}/v1/credentials")
        patch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(self.token_file))

    def is_asked_by(self, call) -> bool:
        return call.headers["authorization"] == self.token_file.read_text()


async def assert_used(store, endpoint, expected: Credentials) -> None:
    endpoint.calls.clear()
    await PUT(store)
    for call in endpoint.calls:
        call.verify_signature(expected, REGION)


async def used_soon(store, endpoint, expected: Credentials, seconds: float = 3.0) -> list[BaseException]:
    """Calls until these credentials are used; the faults that there were."""
    faults = []
    async with asyncio.timeout(seconds):
        while True:
            endpoint.calls.clear()
            try:
                await PUT(store)
            except (BackendUnavailable, BackendMisconfigured) as fault:
                faults.append(fault)
            if endpoint.calls and expected.access_key in endpoint.calls[-1].headers["authorization"]:
                endpoint.calls[-1].verify_signature(expected, REGION)
                return faults
            await asyncio.sleep(0.01)
