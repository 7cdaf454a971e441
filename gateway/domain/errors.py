"""Every refusal: its status and its code, which are contract. `answers.refuse` alone renders them.

Messages never hold a canonical string, a token, a secret, a key or a value.
"""

# The tables keep one refusal to a line:
# fmt: off

from typing import ClassVar

from gateway.domain.model import Caller


class Refusal(Exception):
    """Base of every client-visible "no". The keywords of a subclass become its attributes.

    `detail` explains it to who has to mend it: visible ASCII, at most 256 characters. `caller` is who was
    refused, where a signature was right; for the log.
    """

    status: ClassVar[int]
    code: str
    message: str | None = None
    detail: str | None = None
    retry_after_seconds: int | None = None
    caller: Caller | None = None

    def __init_subclass__(cls, **attributes: str | int) -> None:
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)


# ---- Not a usable request

class NotFound(Refusal, status=404, code="not_found"): ...
class BadRequest(Refusal, status=400, code="bad_request"): ...
class RequestTimeout(Refusal, status=408, code="request_timeout"): ...
class BodyTooLarge(Refusal, status=413, code="body_too_large"): ...

class MethodNotAllowed(Refusal, status=405, code="method_not_allowed"):
    """`allowed` lists the methods that the route has."""

    def __init__(self, allowed: str = "POST") -> None:
        super().__init__()
        self.allowed = allowed


# ---- Layer 1: the signature

class SignatureRefusal(Refusal, status=403):
    """`error_type` is the exception name that AWS clients look for; every one has a message."""

    error_type: str = "InvalidSignatureException"

    def __init__(self, message: str | None = None) -> None:
        super().__init__()
        self.message = message or self.message


class MissingSignature(
    SignatureRefusal, code="missing_signature", error_type="MissingAuthenticationTokenException",
    message="Missing Authentication Token",
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
): ...
class ExpiredCredentials(
    SignatureRefusal, code="invalid_credentials", error_type="ExpiredTokenException",
    message="The security token included in the request is expired.",
): ...
class SignatureMismatch(
    SignatureRefusal, code="signature_mismatch",
    message="The request signature we calculated does not match the signature you provided.",
): ...
class CallerNotApproved(
    SignatureRefusal, code="caller_not_approved", error_type="AccessDeniedException",
    message="User is not authorized to access this resource",
):
    def __init__(self, caller: Caller | None = None) -> None:
        super().__init__()
        self.caller = caller


# ---- Layer 2: the token of a table, or of the control plane; then admission and the rate limit

class MissingToken(Refusal, status=401, code="missing_token"): ...
class InvalidToken(Refusal, status=401, code="invalid_token"): ...
class BindingInactive(Refusal, status=403, code="binding_inactive"): ...
class UnsupportedAppType(Refusal, status=403, code="unsupported_app_type"): ...

class RateLimited(Refusal, status=429, code="rate_limited"):
    """`retry_after_seconds` is the time to the end of the window."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


# ---- Content of a call, in the order in which it is checked

class InvalidContentType(Refusal, status=400, code="invalid_content_type"): ...
class InvalidJson(Refusal, status=400, code="invalid_json"): ...
class InvalidKey(Refusal, status=400, code="invalid_key"): ...
class InvalidValue(Refusal, status=400, code="invalid_value"): ...
class InvalidTtl(Refusal, status=400, code="invalid_ttl"): ...


# ---- The gateway's own failures

class Unavailable(Refusal, status=503, retry_after_seconds=1):
    """A dependency failed, or this replica cannot serve now; the call may be repeated after a second."""

class StorageUnavailable(Unavailable, code="storage_unavailable"): ...
class AuthUnavailable(Unavailable, code="auth_unavailable"): ...
class QuotaUnavailable(Unavailable, code="quota_unavailable"): ...
class Overloaded(Unavailable, code="overloaded"): ...
class ShuttingDown(Unavailable, code="shutting_down"): ...

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

class InternalError(Refusal, status=500, code="internal_error"):
    """An unhandled exception."""


# ---- The control plane alone

class ControlRefusal(Refusal):
    """Says that a rule of the control plane forbids the change, and that nothing was changed."""

class NotAllowed(ControlRefusal, status=403, code="not_allowed"): ...
class AppNotFound(ControlRefusal, status=404, code="app_not_found"): ...
class TableNotFound(ControlRefusal, status=404, code="table_not_found"): ...
class TableExists(ControlRefusal, status=409, code="table_exists"): ...
class TableLimitReached(ControlRefusal, status=409, code="table_limit_reached"): ...
class TooManyTokens(ControlRefusal, status=409, code="too_many_tokens"): ...
class AppIsDeclared(ControlRefusal, status=409, code="declared_app"): ...
class SessionCredentialsDisabled(ControlRefusal, status=409, code="session_credentials_disabled"): ...
class AppTypeNotServed(ControlRefusal, status=422, code="unsupported_app_type"): ...

class InvalidField(ControlRefusal, status=422):
    """A field is missing, of the wrong type or out of range; each has a code of its own."""

    def __init__(self, code: str) -> None:
        super().__init__()
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
