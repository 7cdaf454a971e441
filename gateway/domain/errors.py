"""Every refusal: its status, its code, and nothing about how it is sent.

Refusal
    NotFound 404, MethodNotAllowed 405                      no such route
    BadRequest 400, RequestTimeout 408, BodyTooLarge 413    not a usable HTTP request
    SignatureRefusal 403                                    layer 1, each with a message
        MissingSignature, IncompleteSignature, InvalidRegion, InvalidService, InvalidScope,
        SignatureExpired, InvalidHost, InvalidCredentials, SignatureMismatch, CallerNotApproved
    MissingToken 401, InvalidToken 401                      layer 2
    BindingInactive 403, UnsupportedAppType 403             admission (and CallerNotApproved)
    RateLimited 429                                         with the seconds to the window's end
    InvalidContentType, InvalidJson, InvalidKey, InvalidValue, InvalidTtl 400
    Unavailable 503                                         ours, and worth repeating
        StorageUnavailable, AuthUnavailable, QuotaUnavailable, Overloaded, ShuttingDown
    InternalError 500                                       ours: an unhandled exception
    ControlRefusal                                          of the control plane alone
        Unauthorized 401                                    no or wrong control token
        AppNotFound, TableNotFound 404
        TableExists, TableLimitReached, DeclaredApp, SessionsDisabled 409
        TypeNotServed 422                                   the app's type may not have tables
        Invalid 422                                         one code per field

Messages never hold a canonical string, a token, a secret, a key or a value.
"""

from typing import ClassVar


class Refusal(Exception):
    """Base of every client-visible "no"."""

    status: ClassVar[int]
    code: str
    message: str | None = None
    retry_after_seconds: int | None = None


class NotFound(Refusal):
    status = 404
    code = "not_found"


class MethodNotAllowed(Refusal):
    status = 405
    code = "method_not_allowed"

    def __init__(self, allowed: str = "POST") -> None:
        super().__init__()
        self.allowed = allowed


class BadRequest(Refusal):
    status = 400
    code = "bad_request"


class RequestTimeout(Refusal):
    status = 408
    code = "request_timeout"


class BodyTooLarge(Refusal):
    status = 413
    code = "body_too_large"


class SignatureRefusal(Refusal):
    """Layer 1 said no. `error_type` is the exception name that AWS clients look for."""

    status = 403
    error_type: str = "InvalidSignatureException"

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message


class MissingSignature(SignatureRefusal):
    code = "missing_signature"
    error_type = "MissingAuthenticationTokenException"

    def __init__(self) -> None:
        super().__init__("Missing Authentication Token")


class IncompleteSignature(SignatureRefusal):
    code = "incomplete_signature"
    error_type = "IncompleteSignatureException"


class InvalidRegion(SignatureRefusal):
    code = "invalid_region"


class InvalidService(SignatureRefusal):
    code = "invalid_service"


class InvalidScope(SignatureRefusal):
    code = "invalid_scope"


class SignatureExpired(SignatureRefusal):
    code = "signature_expired"


class InvalidHost(SignatureRefusal):
    code = "invalid_host"


class InvalidCredentials(SignatureRefusal):
    code = "invalid_credentials"
    error_type = "UnrecognizedClientException"

    def __init__(self) -> None:
        super().__init__("The security token included in the request is invalid.")


class ExpiredCredentials(SignatureRefusal):
    code = "invalid_credentials"
    error_type = "ExpiredTokenException"

    def __init__(self) -> None:
        super().__init__("The security token included in the request is expired.")


class SignatureMismatch(SignatureRefusal):
    code = "signature_mismatch"

    def __init__(self) -> None:
        super().__init__("The request signature we calculated does not match the signature you provided.")


class CallerNotApproved(SignatureRefusal):
    code = "caller_not_approved"
    error_type = "AccessDeniedException"

    def __init__(self) -> None:
        super().__init__("User is not authorized to access this resource")


class MissingToken(Refusal):
    status = 401
    code = "missing_token"


class InvalidToken(Refusal):
    status = 401
    code = "invalid_token"


class BindingInactive(Refusal):
    status = 403
    code = "binding_inactive"


class UnsupportedAppType(Refusal):
    status = 403
    code = "unsupported_app_type"


class RateLimited(Refusal):
    status = 429
    code = "rate_limited"

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class InvalidContentType(Refusal):
    status = 400
    code = "invalid_content_type"


class InvalidJson(Refusal):
    status = 400
    code = "invalid_json"


class InvalidKey(Refusal):
    status = 400
    code = "invalid_key"


class InvalidValue(Refusal):
    status = 400
    code = "invalid_value"


class InvalidTtl(Refusal):
    status = 400
    code = "invalid_ttl"


class Unavailable(Refusal):
    """A dependency of ours failed; the call may be repeated after a second."""

    status = 503
    retry_after_seconds = 1


class StorageUnavailable(Unavailable):
    code = "storage_unavailable"


class AuthUnavailable(Unavailable):
    code = "auth_unavailable"


class QuotaUnavailable(Unavailable):
    code = "quota_unavailable"


class Overloaded(Unavailable):
    code = "overloaded"


class ShuttingDown(Unavailable):
    code = "shutting_down"


class InternalError(Refusal):
    status = 500
    code = "internal_error"


class ControlRefusal(Refusal):
    """Base of what the control plane alone refuses."""


class Unauthorized(ControlRefusal):
    status = 401

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code


class AppNotFound(ControlRefusal):
    status = 404
    code = "app_not_found"


class TableNotFound(ControlRefusal):
    status = 404
    code = "table_not_found"


class TableExists(ControlRefusal):
    status = 409
    code = "table_exists"


class TableLimitReached(ControlRefusal):
    status = 409
    code = "table_limit_reached"


class DeclaredApp(ControlRefusal):
    status = 409
    code = "declared_app"


class SessionsDisabled(ControlRefusal):
    status = 409
    code = "session_credentials_disabled"


class TypeNotServed(ControlRefusal):
    status = 422
    code = "unsupported_app_type"


class Invalid(ControlRefusal):
    """A field that is missing, of the wrong type or out of range."""

    status = 422

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code
