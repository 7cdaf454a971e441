"""Failed attempts: the errors of the ports that they stand for, and which attempts are repeated.

DynamoDB's messages may quote keys and values; only the type of an error is repeated in ours.
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
    """The condition of a write did not hold. `item` is the item as it is, if it was asked for and exists.

    `positions`: of the writes of a transaction whose conditions did not hold.
    """

    def __init__(self, item: bytes | None, positions: AbstractSet[int] = frozenset()) -> None:
        super().__init__("the condition did not hold")
        self.item = item
        self.positions = positions


class Cause(Enum):
    """Why an attempt failed, as far as that decides what to do next."""

    UNREACHED = "nothing was sent"
    UNANSWERED = "it may have been carried out or not"
    THROTTLED = "it was not carried out, and may be later"
    BAD_CREDENTIALS = "other credentials may be accepted"
    REFUSED = "it will never be carried out"


class Failure(Struct, frozen=True):
    """An attempt that failed."""

    cause: Cause
    error: BackendError


class Action(Enum):
    """What DynamoDB is asked to do."""

    GET = "GetItem"
    QUERY = "Query"
    PUT = "PutItem"
    UPDATE = "UpdateItem"
    DELETE = "DeleteItem"
    DELETE_MANY = "BatchWriteItem"
    TRANSACT = "TransactWriteItems"

    @property
    def is_idempotent(self) -> bool:
        """Whether a late repeat does no harm.

        A put or a delete that is repeated after its response was lost could undo a later write of another
        replica, and an update would count twice. BatchWriteItem deletes only what is in keyspaces that are
        never used again.
        """
        return self in (Action.GET, Action.QUERY, Action.DELETE_MANY)


def may_be_repeated(action: Action, failure: Failure) -> bool:
    """Whether another attempt may succeed and can do no harm (D105)."""
    match failure.cause:
        case Cause.UNREACHED | Cause.THROTTLED:
            return True
        case Cause.UNANSWERED:
            return action.is_idempotent
    return False


class RetryBudget:
    """Repeats add at most a tenth to the load, however much fails.

    Without it a DynamoDB in trouble would get several times the usual load, from all replicas at once.
    """

    def __init__(self) -> None:
        self._saved = _MOST_SAVED

    def save(self) -> None:
        """For a call that is made anyway."""
        self._saved = min(self._saved + _SAVED_PER_CALL, _MOST_SAVED)

    def spend(self) -> bool:
        """Whether one more attempt can be afforded; if so, it is paid for."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True


class _Object(Struct):
    """Of any members."""


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
"""Why a write of a transaction was not made, and may be later. None stands for one that others kept back."""
CREDENTIALS_REFUSED = {
    "ExpiredTokenException",
    "InvalidSignatureException",
    "UnrecognizedClientException",
}
_MISCONFIGURED = {
    "AccessDeniedException": "the role may not do this",
    "IncompleteSignatureException": "the signature is refused",
    "InvalidSignatureException": "the signature is refused: wrong secret, or a clock that is wrong",
    "MissingAuthenticationTokenException": "the signature is refused",
    "ResourceNotFoundException": "there is no such table",
    "UnrecognizedClientException": "the credentials are not known",
}


def failure_of(reply: HttpReply) -> Failure:
    """What a reply other than 200 means. Raises ConditionFailed."""
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
    """Of a transaction. Raises ConditionFailed if a condition failed, whatever else was in the way."""
    failed = {position for position, code in enumerate(codes) if code == _CONDITION_FAILED}
    if failed:
        raise ConditionFailed(None, failed)
    if codes and _LATER.issuperset(codes):
        return Failure(Cause.THROTTLED, BackendUnavailable("another transaction was in the way"))
    return Failure(Cause.REFUSED, BackendMisconfigured(f"DynamoDB refuses the call ({_CANCELLED})"))


def is_dynamodb_output(body: bytes) -> bool:
    """Whether a body can be DynamoDB's: the page of a portal or a proxy must not acknowledge a write."""
    try:
        msgspec.json.decode(body, type=_Object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def unanswered(reason: str) -> Failure:
    """No reply, or one that leaves open what happened."""
    return Failure(Cause.UNANSWERED, BackendUnavailable(reason))


def _read(reply: HttpReply) -> _Body:
    try:
        return msgspec.json.decode(reply.body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Body()
