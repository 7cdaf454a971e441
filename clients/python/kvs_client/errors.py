"""Errors of calls. Each error says what to do; none quotes a token, a secret, a key or a value."""

import re
from typing import Any, ClassVar

DETAIL_CHARACTERS = 256

_HINTS = {
    "invalid_region": "set SERVICE_KVS_REGION to the region of the gateway",
    "signature_expired": "correct the clock of this machine",
    "caller_not_approved": (
        "ask the operator to approve the role of these credentials for this app environment"
    ),
    "invalid_credentials": "use the credentials of the function's role, and let the SDK refresh them",
    "signature_mismatch": "check the secret access key; proxies must keep Authorization, Host and body",
    "invalid_host": "use SERVICE_KVS_URL as the platform sets it",
    "invalid_token": "set the variable of the table's token to its current token: it may have been rotated",
    "binding_inactive": "ask the operator",
    "rate_limited": "wait for retry_after_seconds, or ask the operator for a higher limit",
    "missing_variable": "set it to the value from the platform or kvs-gateway tables create --format env",
    "no_answer": (
        "check that SERVICE_KVS_URL is reachable, or retry later; a put or delete may have been applied"
    ),
    "deadline_exceeded": "allow more time with deadline_seconds; a put or delete may have been applied",
}
_HINTS |= {
    "invalid_variable": _HINTS["missing_variable"],
    "no_credentials": _HINTS["invalid_credentials"],
    "incomplete_signature": _HINTS["signature_mismatch"],
    "not_found": _HINTS["invalid_host"],
    "redirect": _HINTS["invalid_host"],
    "unsupported_app_type": _HINTS["binding_inactive"],
}


class KvsError(Exception):
    """The base of all errors of this package."""

    default_hint: ClassVar[str] = "see docs/refusals.md of the gateway"

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        self.code = code
        self.detail = detail
        self.status = status
        """HTTP status of the answer; None if there was none."""
        self.request_id = request_id
        """Request id in the log of the gateway."""
        self.retry_after_seconds = retry_after_seconds
        """Seconds until a retry can succeed, if the gateway sent them."""
        super().__init__(code)

    @property
    def hint(self) -> str:
        """Advice on what to do."""
        return _HINTS.get(self.code, self.default_hint)

    def __str__(self) -> str:
        said = f"{self.status} {self.code}" if self.status else self.code
        detail = f": {self.detail}" if self.detail else ""
        request_id = f" (request id {self.request_id})" if self.request_id else ""
        return f"{said}{detail}; {self.hint}{request_id}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.detail), self.__dict__

    def again(self, retry_after_seconds: int | None = None) -> "KvsError":
        """Returns a copy for another call."""
        return type(self)(
            self.code,
            self.detail,
            status=self.status,
            request_id=self.request_id,
            retry_after_seconds=retry_after_seconds,
        )


class ConfigurationError(KvsError):
    """The client cannot be created: a variable or an option is missing or wrong, or this is a browser."""


class InvalidRequest(KvsError):
    """The request is invalid: a retry fails in the same way."""


class NotAuthorized(KvsError):
    """The gateway did not accept the signature, the role or the token."""


class RateLimited(KvsError):
    """The limit of the table or app environment is used up until after the deadline."""


class Unavailable(KvsError):
    """The gateway cannot be reached, or cannot serve the request."""

    default_hint = "retry later; a put or delete may have been applied"


class DeadlineExceeded(KvsError):
    """No answer arrived before the deadline."""


class InvalidAnswer(KvsError):
    """The answer did not come from the gateway, or was changed on its way."""


def closed() -> Unavailable:
    """Returns the error of a call in progress when its client was closed."""
    return Unavailable("no_answer", "the client is closed")


def kind_of(status: int) -> type[KvsError]:
    """Returns the type of error for an answer with this status."""
    if status in (401, 403):
        return NotAuthorized
    if status == 429:
        return RateLimited
    if status == 408 or status >= 500:
        return Unavailable
    return InvalidRequest if status >= 400 else InvalidAnswer


def printable(text: str | None, *, characters: int = DETAIL_CHARACTERS) -> str | None:
    """Returns text that is safe in a log line: visible ASCII, bounded."""
    return re.sub(r"[^ -~]", "?", text[:characters]) if text else None
