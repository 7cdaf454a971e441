"""`POST /`, which SDKs call if AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ENDPOINT_URL_STS are set."""

from gateway.config.settings import EdgeSettings
from gateway.credentialsplane import sts
from gateway.credentialsplane.budgets import Attempt
from gateway.credentialsplane.errors import NoSuchWorkload, WorkloadRefusal
from gateway.credentialsplane.parameters import parse_parameters
from gateway.credentialsplane.workloads import Exchange
from gateway.domain.answers import Answer, refuse
from gateway.domain.errors import InternalError, Refusal
from gateway.domain.rules import CONTROL_BODY_BYTES
from gateway.http.body import BodySlots, read_body
from gateway.http.messages import Request
from gateway.http.turns import MAX_BODIES

_CONTENT_TYPE = "text/xml"


class WebIdentity:
    """Issues credentials for a JWT. Errors have the form of STS, except those of HTTP itself."""

    name = "web_identity"
    method = "POST"

    def __init__(self, exchange: Exchange, settings: EdgeSettings) -> None:
        self._exchange = exchange
        self._body_seconds = settings.body_seconds
        self.bodies = BodySlots(min(MAX_BODIES, settings.max_in_flight))

    async def answer(self, request: Request, attempt: Attempt) -> Answer:
        """Returns the credentials as XML. Raises Refusal, also if the role is not that of the workload."""
        body = await read_body(request, CONTROL_BODY_BYTES, self._body_seconds, self.bodies)
        wanted = parse_parameters(request.target.partition(b"?")[2], body)
        ttl_seconds = self._exchange.lifetime_seconds(wanted.duration_seconds)
        workload = attempt.identify(
            await self._exchange.workloads.find_by_jwt(wanted.token, attempt.before_signature)
        )
        if wanted.role != workload.role:
            raise NoSuchWorkload
        issued = self._exchange.issue(workload, ttl_seconds)
        attempt.audit.note(access_key_id=issued.access_key_id, session_name=wanted.session_name)
        return _answer(200, sts.assumed(workload, wanted.session_name, issued, request.id), request)

    def refuse(self, refusal: Refusal, request: Request) -> Answer:
        """Renders a refusal as STS does. Refusals that end the connection are the same on every listener."""
        match refusal:
            case WorkloadRefusal():
                status, code = refusal.sts_status, refusal.sts_code
            case InternalError():
                status, code = 500, "InternalFailure"
            case _:
                return refuse(refusal)
        body = sts.refused(code, refusal.message or "", is_ours=status >= 500, request_id=request.id)
        return _answer(status, body, request, refuse(refusal))


def _answer(status: int, body: bytes, request: Request, refused: Answer | None = None) -> Answer:
    """Builds an answer with a body of STS. `refused` adds the gateway's own code and header fields."""
    own = (("x-amzn-RequestId", request.id),)
    if refused is None:
        return Answer(status, body, fields=own, content_type=_CONTENT_TYPE)
    return Answer(status, body, code=refused.code, fields=own + refused.fields, content_type=_CONTENT_TYPE)
