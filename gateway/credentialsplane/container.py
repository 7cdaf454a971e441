"""`GET /v1/credentials/container`, which SDKs call if AWS_CONTAINER_CREDENTIALS_FULL_URI is set."""

import msgspec

from gateway.credentialsplane.budgets import Attempt
from gateway.credentialsplane.errors import InvalidIdentity
from gateway.credentialsplane.sts import instant
from gateway.credentialsplane.workloads import Exchange
from gateway.domain.answers import Answer, refuse
from gateway.domain.call import Headers
from gateway.domain.errors import Refusal
from gateway.http.messages import Request

_SCHEME = b"bearer "


class Container:
    """Issues credentials for the token in `Authorization`. SDKs send the token alone, without a scheme."""

    name = "container"
    method = "GET"

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def answer(self, request: Request, attempt: Attempt) -> Answer:
        """Returns the credentials as JSON. Raises WorkloadRefusal."""
        token = token_in(request.headers)
        workload = attempt.identify(await self._exchange.workloads.find(token, attempt.before_signature))
        issued = self._exchange.issue(workload, self._exchange.lifetime_seconds(None))
        attempt.audit.note(access_key_id=issued.access_key_id)
        body = {
            "AccessKeyId": issued.access_key_id,
            "SecretAccessKey": issued.secret_access_key,
            "Token": issued.session_token,
            "Expiration": instant(issued.expires_at_seconds),
            "RoleArn": workload.role,
        }
        return Answer(200, msgspec.json.encode(body))

    def refuse(self, refusal: Refusal, _: Request) -> Answer:
        return refuse(refusal)


def token_in(headers: Headers) -> bytes:
    """Returns the token with or without the scheme Bearer, never empty. Raises InvalidIdentity."""
    field = headers.get(b"authorization", b"")
    token = field[len(_SCHEME) :].strip() if field[: len(_SCHEME)].lower() == _SCHEME else field
    if not token or b"authorization" in headers.repeated:
        raise InvalidIdentity
    return token
