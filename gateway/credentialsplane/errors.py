"""Refusals of the credentials listener, each with the matching STS error code."""

# The tables keep one refusal to a line:
# fmt: off

from typing import ClassVar

from gateway.domain.errors import Refusal


class WorkloadRefusal(Refusal):
    """Base of refusals to issue credentials, with STS's code and status."""

    sts_code: ClassVar[str]
    sts_status: ClassVar[int] = 400


class InvalidIdentity(
    WorkloadRefusal, status=401, code="invalid_identity_token", sts_code="InvalidIdentityToken",
    message="The identity token does not belong to a configured workload.",
): ...
class ExpiredIdentity(
    WorkloadRefusal, status=401, code="expired_identity_token", sts_code="ExpiredTokenException",
    message="The identity token is expired.",
): ...
class NoSuchWorkload(
    WorkloadRefusal, status=403, code="access_denied", sts_code="AccessDenied", sts_status=403,
    message="Not authorized to perform sts:AssumeRoleWithWebIdentity",
): ...
class IssuerUnavailable(
    WorkloadRefusal, status=503, code="issuer_unavailable", sts_code="IDPCommunicationError", sts_status=503,
    message="The signing key of the identity token cannot be fetched from its issuer now.",
):
    """STS answers 400, which botocore retries in only one of its modes; every SDK retries a 503."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds

class TooManyExchanges(
    WorkloadRefusal, status=429, code="rate_limited", sts_code="Throttling", message="Rate exceeded",
):
    """A budget of the caller is used up. `retry_after_seconds` is the time until it is renewed."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class UnknownAction(WorkloadRefusal, status=400, code="invalid_action", sts_code="InvalidAction"):
    message = "The only supported operation is AssumeRoleWithWebIdentity, version 2011-06-15."

class InvalidParameter(WorkloadRefusal, status=400, code="validation_error", sts_code="ValidationError"):
    """A parameter of the form is missing, repeated or out of range."""

    def __init__(self, parameter: str, rule: str) -> None:
        super().__init__()
        self.message = f"Value at '{parameter}' failed to satisfy constraint: {rule}"
