"""`GET /v1/credentials/container`, as the SDKs ask where AWS_CONTAINER_CREDENTIALS_FULL_URI is set."""

import msgspec

from gateway.credentialsplane.errors import InvalidIdentity
from gateway.credentialsplane.exchange import Exchange
from gateway.credentialsplane.handler import Asked
from gateway.credentialsplane.sts import instant
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import Refusal
from gateway.domain.headers import Headers
from gateway.http.messages import Request

_SCHEME = b"bearer "


class Container:
    """Credentials for the token in `Authorization`, which SDKs send as they find it, without a scheme."""

    name = "container"
    method = "GET"

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def answer(self, request: Request, asked: Asked) -> Answer:
        """Raises WorkloadRefusal."""
        workload = await self._exchange.workloads.find(token_in(request.headers))
        issued = self._exchange.issue(asked.of(workload), self._exchange.lifetime_seconds(None))
        asked.issued(issued)
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
    """The token that was sent, never empty. Raises InvalidIdentity."""
    field = headers.get(b"authorization", b"")
    token = field[len(_SCHEME) :].strip() if field[: len(_SCHEME)].lower() == _SCHEME else field
    if not token or b"authorization" in headers.repeated:
        raise InvalidIdentity
    return token
