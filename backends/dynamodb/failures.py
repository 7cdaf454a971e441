"""Failed attempts: their port errors, and whether they may be retried.

DynamoDB's messages may quote keys and values, so our messages repeat only the error's type.
"""

import re
from collections.abc import Set as AbstractSet
from enum import Enum

import msgspec
from msgspec import Struct

from backends.dynamodb.items import NOT_DYNAMODB
from backends.dynamodb.transport import HttpReply
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable

_SAVED_PER_CALL = 0.1
_MOST_SAVED = 10.0


class ConditionFailed(Exception):
    """The condition of a write failed. `item` is the current item, if it was requested and exists.

    `positions` are the writes of a transaction whose conditions failed.
    """

    def __init__(self, item: bytes | None, positions: AbstractSet[int] = frozenset()) -> None:
        super().__init__("the condition failed")
        self.item = item
        self.positions = positions


class Cause(Enum):
    """Class of failure, which decides on a retry."""

    UNREACHED = "nothing was sent"
    UNANSWERED = "it may have been executed"
    THROTTLED = "it was not executed and may succeed later"
    BAD_CREDENTIALS = "other credentials may be accepted"
    REFUSED = "it will never succeed"


class Failure(Struct, frozen=True):
    """An attempt that failed."""

    cause: Cause
    error: BackendError


class Action(Enum):
    """DynamoDB's API actions that the adapter uses."""

    GET = "GetItem"
    QUERY = "Query"
    PUT = "PutItem"
    UPDATE = "UpdateItem"
    DELETE = "DeleteItem"
    DELETE_MANY = "BatchWriteItem"
    TRANSACT = "TransactWriteItems"

    @property
    def is_idempotent(self) -> bool:
        """True if a late repeat is harmless.

        A put or delete repeated after a lost response could undo a later write of another replica, and an
        update would count twice. BatchWriteItem deletes only in keyspaces that are never used again.
        """
        return self in (Action.GET, Action.QUERY, Action.DELETE_MANY)


def may_be_repeated(action: Action, failure: Failure) -> bool:
    """Returns True if another attempt may succeed and is harmless (D105)."""
    match failure.cause:
        case Cause.UNREACHED | Cause.THROTTLED:
            return True
        case Cause.UNANSWERED:
            return action.is_idempotent
    return False


class RetryBudget:
    """Retry budget: retries add at most a tenth to the load, whatever fails.

    Without it a struggling DynamoDB would get several times the usual load from all replicas together.
    """

    def __init__(self) -> None:
        self._saved = _MOST_SAVED

    def save(self) -> None:
        """Earns a tenth of a retry for a call."""
        self._saved = min(self._saved + _SAVED_PER_CALL, _MOST_SAVED)

    def spend(self) -> bool:
        """Pays for one more attempt; returns False if the budget is exhausted."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


class _Object(Struct):
    """A JSON object with any members."""


class _Reason(Struct):
    code: str = msgspec.field(name="Code", default="None")


class _Body(Struct):
    kind: str = msgspec.field(name="__type", default="")
    item: msgspec.Raw = msgspec.field(name="Item", default=msgspec.Raw())
    reasons: list[_Reason] = msgspec.field(name="CancellationReasons", default_factory=list)


_CANCELLED = "TransactionCanceledException"
_CONDITION_FAILED = "ConditionalCheckFailed"
_THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionConflictException",
}
_LATER = {"None", "ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"}
"""Transient reasons of a cancelled transaction. `None` marks a write cancelled because of another one."""
CREDENTIALS_REFUSED = {
    "ExpiredTokenException",
    "InvalidSignatureException",
    "UnrecognizedClientException",
}
_MISCONFIGURED = {
    "AccessDeniedException": "the role lacks permission",
    "IncompleteSignatureException": "the signature was refused",
    "InvalidSignatureException": "the signature was refused: wrong secret or wrong clock",
    "MissingAuthenticationTokenException": "the signature was refused",
    "ResourceNotFoundException": "the table does not exist",
    "UnrecognizedClientException": "the credentials are unknown",
}


def failure_of(reply: HttpReply) -> Failure:
    """Classifies a reply other than 200. Raises ConditionFailed."""
    body = _read(reply)
    kind = body.kind.rpartition("#")[2]
    if kind == "ConditionalCheckFailedException":
        raise ConditionFailed(bytes(body.item) or None)
    if kind == _CANCELLED:
        return _cancelled([reason.code for reason in body.reasons])
    if kind in _THROTTLED:
        return Failure(Cause.THROTTLED, BackendUnavailable(f"DynamoDB throttles ({kind})"))
    if kind == "ExpiredTokenException":
        return Failure(Cause.BAD_CREDENTIALS, BackendUnavailable(f"the credentials have expired ({kind})"))
    if reply.status >= 500:
        return unanswered(f"DynamoDB failed ({reply.status})")
    if not re.fullmatch("[A-Za-z]{1,64}", kind):
        return unanswered(f"{NOT_DYNAMODB} ({reply.status})")
    cause = Cause.BAD_CREDENTIALS if kind in CREDENTIALS_REFUSED else Cause.REFUSED
    text = _MISCONFIGURED.get(kind, "DynamoDB refuses the call")
    return Failure(cause, BackendMisconfigured(f"{text} ({kind})"))


def _cancelled(codes: list[str]) -> Failure:
    """Classifies a cancelled transaction. Raises ConditionFailed if any condition failed."""
    failed = {position for position, code in enumerate(codes) if code == _CONDITION_FAILED}
    if failed:
        raise ConditionFailed(None, failed)
    if codes and _LATER.issuperset(codes):
        return Failure(Cause.THROTTLED, BackendUnavailable("conflict with another transaction"))
    return Failure(Cause.REFUSED, BackendMisconfigured(f"DynamoDB refuses the call ({_CANCELLED})"))


def is_dynamodb_output(body: bytes) -> bool:
    """Returns True for a JSON object: the page of a captive portal or proxy must not acknowledge a write."""
    try:
        msgspec.json.decode(body, type=_Object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def unanswered(reason: str) -> Failure:
    """Builds the failure for a missing or unusable reply: the call may have been executed."""
    return Failure(Cause.UNANSWERED, BackendUnavailable(reason))


def too_large() -> Failure:
    """Builds the failure for a reply beyond the bound. It is neither repeated nor counted by the breaker.

    One foreign item can cause it: DynamoDB keeps 1e125 in three bytes and sends 126 digits. Other calls may
    still succeed.
    """
    reason = "a response is larger than any that DynamoDB sends"
    return Failure(Cause.REFUSED, BackendUnavailable(reason))


def _read(reply: HttpReply) -> _Body:
    try:
        return msgspec.json.decode(reply.body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Body()
