"""Refusals of the data plane, and the bases of all others. Only `answers.refuse` renders them.

Status and code are part of the contract. The directory and the other planes have refusals of their own.
Neither a message nor a detail holds a canonical string, a token, a secret, a key or a value.
"""

# The tables keep one refusal to a line:
# fmt: off

from typing import ClassVar

from gateway.domain.model import Caller, RateLimitStatus


class Refusal(Exception):
    """Base of every refusal. The keywords of a subclass become its attributes.

    `detail` is for the developer: the rule, what was sent, what is allowed (D168). The detail of the class is
    the default. `caller` is for the log, and known if the signature was valid.
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
class UnknownHost(Refusal, status=403, code="invalid_host"): ...
class BadRequest(Refusal, status=400, code="bad_request", detail="not a valid HTTP/1.1 request"): ...
class RequestTimeout(
    Refusal, status=408, code="request_timeout", detail="the request did not arrive in time",
): ...
class BodyTooLarge(Refusal, status=413, code="body_too_large"):
    """`size` is the length of the body, or the part of it that is known."""

    def __init__(self, size: str, max_bytes: int) -> None:
        super().__init__(f"body: {size}, at most {max_bytes}")

class MethodNotAllowed(Refusal, status=405, code="method_not_allowed"):
    """`allowed` lists the methods of the route."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"method: {method}, allowed: {allowed}")
        self.allowed = allowed


# ---- Layer 1: the signature

class SignatureRefusal(Refusal, status=403):
    """Base of the refusals of layer 1. `error_type` is the exception name that AWS clients look for.

    Each has a message in the words of AWS. It is repeated as the detail of a refusal without one.
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
    """`status` is that of the exhausted budget; the response shows it if `exposed`."""

    def __init__(self, status: RateLimitStatus, *, exposed: bool) -> None:
        super().__init__(f"limit of the {status.owner}, {status.limit} per minute")
        self.retry_after_seconds = status.closes_in_seconds
        self.rate_limit = status if exposed else None


# ---- Content of a call, in the order in which it is checked

class InvalidContentType(Refusal, status=400, code="invalid_content_type"): ...
class InvalidJson(Refusal, status=400, code="invalid_json"): ...
class InvalidKey(Refusal, status=400, code="invalid_key"): ...
class InvalidValue(Refusal, status=400, code="invalid_value"): ...
class InvalidTtl(Refusal, status=400, code="invalid_ttl"): ...
class InvalidPrecondition(Refusal, status=400, code="invalid_precondition"): ...
class InvalidPrefix(Refusal, status=400, code="invalid_prefix"): ...
class InvalidLimit(Refusal, status=400, code="invalid_limit"): ...
class InvalidCursor(
    Refusal, status=400, code="invalid_cursor",
    detail="cursor: not one of this table and prefix; list without a cursor to start again",
): ...
class InvalidValues(Refusal, status=400, code="invalid_values"): ...
class InvalidBy(Refusal, status=400, code="invalid_by"): ...
class InvalidOperations(Refusal, status=400, code="invalid_operations"): ...


# ---- Operations that are not done

class PreconditionFailed(Refusal, status=412, code="precondition_failed"):
    """`revision` is that of the live entry; None if there is none."""

    def __init__(self, revision: str | None) -> None:
        super().__init__(_NO_ENTRY if revision is None else _OTHER_ENTRY)
        self.revision = revision

_NO_ENTRY = "there is no entry under the key"
_OTHER_ENTRY = "there is an entry under the key, with the ETag of this response: get it and decide again"
class StorageLimitReached(
    Refusal, status=403, code="storage_limit_reached",
    detail="the storage limit of the app environment leaves no room: delete entries, or ask for more",
): ...
class ValueNotInteger(
    Refusal, status=409, code="value_not_integer",
    detail="value or sum: not an integer from -9007199254740991 to 9007199254740991; nothing was changed",
): ...
class TableNeedsUpgrade(
    Refusal, status=409, code="table_needs_upgrade",
    detail="the table has the layout of 0.2: its operator can run kvs-gateway tables upgrade",
): ...


# ---- The gateway's own failures

class Unavailable(Refusal, status=503, retry_after_seconds=1):
    """Base of temporary failures, of a dependency or of this replica. Clients repeat after a second."""

class StorageUnavailable(
    Unavailable, code="storage_unavailable",
    detail="the store of entries does not answer; writes may have been applied; repeat only put and delete",
): ...
class AuthUnavailable(
    Unavailable, code="auth_unavailable", detail="the store of tables and tokens does not answer",
): ...
class QuotaUnavailable(
    Unavailable, code="quota_unavailable", detail="the store of rate limits does not answer",
): ...
class Overloaded(
    Unavailable, code="overloaded", detail="this replica is at capacity; repeat the request",
): ...
NOT_BEGUN = "this replica stood still, or the client left, before the call began; repeat the request"
class ShuttingDown(
    Unavailable, code="shutting_down", detail="this replica is shutting down; repeat the request",
): ...


class InternalError(
    Refusal, status=500, code="internal_error",
    detail="internal error, logged under the x-request-id of this response",
):
    """An unhandled exception."""
