"""Every refusal: its status and its code, which are contract. `answers.refuse` alone renders them.

Messages never hold a canonical string, a token, a secret, a key or a value.
"""

# The tables keep one refusal to a line:
# fmt: off

from typing import ClassVar

from gateway.domain.model import Caller, Standing


class Refusal(Exception):
    """Base of every client-visible "no". The keywords of a subclass become its attributes.

    `detail` explains it to who has to mend it: which rule, what was sent, what is allowed (D168). That of the
    class holds where the raiser knows nothing better. `caller` is who was refused, where a signature
    was right; for the log.
    """

    status: ClassVar[int]
    code: str
    message: str | None = None
    detail: str = ""
    retry_after_seconds: int | None = None
    caller: Caller | None = None

    def __init__(self, detail: str | None = None) -> None:
        super().__init__()
        self.detail = detail or self.detail

    def __init_subclass__(cls, **attributes: str | int) -> None:
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)


# ---- Not a usable request

class NotFound(Refusal, status=404, code="not_found", detail="no such path"): ...
class BadRequest(Refusal, status=400, code="bad_request", detail="not a request of HTTP/1.1"): ...
class RequestTimeout(
    Refusal, status=408, code="request_timeout", detail="the request did not arrive in time",
): ...
class BodyTooLarge(Refusal, status=413, code="body_too_large"):
    """`size` tells how long the body is, as far as is known."""

    def __init__(self, size: str, max_bytes: int) -> None:
        super().__init__(f"body: {size}, at most {max_bytes}")

class MethodNotAllowed(Refusal, status=405, code="method_not_allowed"):
    """`allowed` lists the methods that the route has."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"method: {method}, allowed: {allowed}")
        self.allowed = allowed


# ---- Layer 1: the signature

class SignatureRefusal(Refusal, status=403):
    """`error_type` is the exception name that AWS clients look for.

    Every one has a message, in the words of AWS, which explains it unless there is a detail.
    """

    error_type: str = "InvalidSignatureException"

    def __init__(self, message: str | None = None, *, detail: str | None = None) -> None:
        super().__init__(detail)
        self.message = message or self.message


class MissingSignature(
    SignatureRefusal, code="missing_signature", error_type="MissingAuthenticationTokenException",
    message="Missing Authentication Token",
    detail="Authorization: missing, sign the request with AWS Signature V4 for execute-api",
): ...
class IncompleteSignature(
    SignatureRefusal, code="incomplete_signature", error_type="IncompleteSignatureException",
): ...
class InvalidRegion(SignatureRefusal, code="invalid_region"): ...
class InvalidService(SignatureRefusal, code="invalid_service"): ...
class InvalidScope(SignatureRefusal, code="invalid_scope"): ...
class SignatureExpired(SignatureRefusal, code="signature_expired"): ...
class InvalidHost(SignatureRefusal, code="invalid_host"): ...
class InvalidCredentials(
    SignatureRefusal, code="invalid_credentials", error_type="UnrecognizedClientException",
    message="The security token included in the request is invalid.",
    detail="session token: not issued by this gateway",
): ...
class ExpiredCredentials(
    SignatureRefusal, code="invalid_credentials", error_type="ExpiredTokenException",
    message="The security token included in the request is expired.", detail="session token expired",
): ...
class SignatureMismatch(
    SignatureRefusal, code="signature_mismatch",
    message="The request signature we calculated does not match the signature you provided.",
    detail="wrong secret, or the request was changed after it was signed",
): ...
class CallerNotApproved(
    SignatureRefusal, code="caller_not_approved", error_type="AccessDeniedException",
    message="User is not authorized to access this resource",
):
    def __init__(self, detail: str, caller: Caller | None = None) -> None:
        super().__init__(detail=detail)
        self.caller = caller


# ---- Layer 2: the token of a table, or of the control plane; then admission and the rate limit

class MissingToken(Refusal, status=401, code="missing_token"): ...
class InvalidToken(
    Refusal, status=401, code="invalid_token", detail="no such token: mistyped, rotated or deleted",
): ...
class BindingInactive(
    Refusal, status=403, code="binding_inactive",
    detail="the app environment is suspended: its operator can resume it",
): ...
class UnsupportedAppType(Refusal, status=403, code="unsupported_app_type"): ...

class RateLimited(Refusal, status=429, code="rate_limited"):
    """`standing` is that of the budget that is used up; it is told if it `is_told`."""

    def __init__(self, standing: Standing, *, is_told: bool) -> None:
        super().__init__(f"limit of the {standing.owner}, {standing.limit} per minute")
        self.retry_after_seconds = standing.closes_in_seconds
        self.standing = standing if is_told else None


# ---- Content of a call, in the order in which it is checked

class InvalidContentType(Refusal, status=400, code="invalid_content_type"): ...
class InvalidJson(Refusal, status=400, code="invalid_json"): ...
class InvalidKey(Refusal, status=400, code="invalid_key"): ...
class InvalidValue(Refusal, status=400, code="invalid_value"): ...
class InvalidTtl(Refusal, status=400, code="invalid_ttl"): ...


# ---- The gateway's own failures

class Unavailable(Refusal, status=503, retry_after_seconds=1):
    """A dependency failed, or this replica cannot serve now; the call may be repeated after a second."""

class StorageUnavailable(
    Unavailable, code="storage_unavailable",
    detail="the store of entries does not answer; a put or delete may have been applied, and can be repeated",
): ...
class AuthUnavailable(
    Unavailable, code="auth_unavailable", detail="the store of tables and tokens does not answer",
): ...
class QuotaUnavailable(
    Unavailable, code="quota_unavailable", detail="the store of rate limits does not answer",
): ...
class Overloaded(
    Unavailable, code="overloaded", detail="this replica is full",
): ...
class ShuttingDown(Unavailable, code="shutting_down", detail="this replica ends; another one serves"): ...

class KeysUnavailable(
    Unavailable, code="auth_unavailable",
    detail="the keys of the token's issuer cannot be had",
): ...
class ChangeUnknown(
    Unavailable, code="auth_unavailable",
    detail="it is not known whether the change was applied; it can be repeated safely",
): ...
class NotChanged(
    Unavailable, code="auth_unavailable",
    detail="the directory's store does not answer; nothing was changed",
): ...
class AppUnreadable(
    Unavailable, code="auth_unavailable",
    detail="the record of this app cannot be read: restore it, or remove the app",
): ...

class InternalError(
    Refusal, status=500, code="internal_error",
    detail="a fault of the gateway, logged under the x-request-id of this response",
):
    """An unhandled exception."""


# ---- The control plane alone

class ControlRefusal(Refusal):
    """Says that a rule of the control plane forbids the change, and that nothing was changed."""

class NotAllowed(
    ControlRefusal, status=403, code="not_allowed",
    detail="this token may not do that, or not there; whoami tells what it may",
): ...
class AppNotFound(
    ControlRefusal, status=404, code="app_not_found",
    detail="no such app environment: mistyped, in another environment (?env=), or not registered",
): ...
class TableNotFound(
    ControlRefusal, status=404, code="table_not_found",
    detail="no such table: mistyped (upper and lower case differ), or deleted",
): ...
class TableExists(
    ControlRefusal, status=409, code="table_exists",
    detail="the app environment has a table of this name; upper and lower case do not differ here",
): ...
class TableLimitReached(ControlRefusal, status=409, code="table_limit_reached"): ...
class TooManyTokens(ControlRefusal, status=409, code="too_many_tokens"): ...
class AppExists(
    ControlRefusal, status=412, code="app_exists",
    detail="If-None-Match: * asks for a new app environment, and this one exists; PATCH changes it",
): ...
class AppIsDeclared(
    ControlRefusal, status=409, code="declared_app",
    detail="this app is declared in the configuration file, and changes there alone",
): ...
class SessionCredentialsDisabled(
    ControlRefusal, status=409, code="session_credentials_disabled",
    detail="signature.credentials.session is not configured",
): ...
class NoUsage(
    ControlRefusal, status=404, code="no_usage",
    detail="no Prometheus is configured to read usage from: console.prometheus",
): ...
class UsageUnavailable(ControlRefusal, status=503, code="usage_unavailable", retry_after_seconds=10):
    """Prometheus does not answer, or not as Prometheus does."""

class AppTypeNotServed(ControlRefusal, status=422, code="unsupported_app_type"): ...

class InvalidField(ControlRefusal, status=422):
    """A field is missing, of the wrong type or out of range; each has a code of its own."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


# ---- The credentials listener alone

class WorkloadRefusal(Refusal):
    """A workload is given no credentials. `sts_code` and `sts_status` are STS' name of the reason."""

    sts_code: ClassVar[str]
    sts_status: ClassVar[int] = 400

class InvalidIdentity(
    WorkloadRefusal, status=401, code="invalid_identity_token", sts_code="InvalidIdentityToken",
    message="The identity token that was sent is not one of a known workload.",
): ...
class ExpiredIdentity(
    WorkloadRefusal, status=401, code="expired_identity_token", sts_code="ExpiredTokenException",
    message="The identity token that was sent is expired.",
): ...
class NoSuchWorkload(
    WorkloadRefusal, status=403, code="access_denied", sts_code="AccessDenied", sts_status=403,
    message="Not authorized to perform sts:AssumeRoleWithWebIdentity",
): ...
class IssuerUnavailable(
    WorkloadRefusal, status=503, code="issuer_unavailable", sts_code="IDPCommunicationError",
    retry_after_seconds=1, message="The keys of the identity token's issuer cannot be fetched now.",
): ...
class TooManyExchanges(
    WorkloadRefusal, status=429, code="rate_limited", sts_code="Throttling", message="Rate exceeded",
):
    """`retry_after_seconds` is the time to the end of the window."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds

class UnknownAction(WorkloadRefusal, status=400, code="invalid_action", sts_code="InvalidAction"):
    message = "The one operation here is AssumeRoleWithWebIdentity of the version 2011-06-15."

class InvalidParameter(WorkloadRefusal, status=400, code="validation_error", sts_code="ValidationError"):
    """A parameter of the form is missing, repeated or out of range."""

    def __init__(self, parameter: str, rule: str) -> None:
        super().__init__()
        self.message = f"Value at '{parameter}' failed to satisfy constraint: {rule}"
