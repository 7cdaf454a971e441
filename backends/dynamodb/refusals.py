"""What DynamoDB refuses, as the errors of the ports.

Its messages may quote keys and values; only the type of an error is repeated.
"""

import re
from enum import Enum

import msgspec
from msgspec import Struct

from backends.dynamodb.transport import Answer
from backends.errors import BackendError, BackendMisconfigured, BackendUnavailable


class ConditionFailed(Exception):
    """The condition of a write did not hold. `item` is what stands there, if it was asked for."""

    def __init__(self, item: bytes | None) -> None:
        super().__init__("the condition did not hold")
        self.item = item


class Why(Enum):
    """Why an attempt came to nothing, as far as that decides what to do next."""

    UNREACHED = "nothing was sent"
    UNANSWERED = "it may have been carried out or not"
    THROTTLED = "DynamoDB asked to be left alone"
    UNKNOWN_CALLER = "other credentials may do"
    REFUSED = "DynamoDB will not do this"


class Refusal(Struct, frozen=True):
    """An attempt that came to nothing."""

    why: Why
    error: BackendError


class _Object(Struct):
    """Of any members."""


class _Body(Struct):
    kind: str = msgspec.field(name="__type", default="")
    item: msgspec.Raw = msgspec.field(name="Item", default=msgspec.Raw())


_THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
}
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


def refusal_of(answer: Answer) -> Refusal:
    """What an answer other than 200 means. Raises ConditionFailed."""
    body = _read(answer)
    kind = body.kind.rpartition("#")[2]
    if kind == "ConditionalCheckFailedException":
        raise ConditionFailed(bytes(body.item) or None)
    if kind in _THROTTLED:
        return Refusal(Why.THROTTLED, BackendUnavailable(f"DynamoDB throttles ({kind})"))
    if kind == "ExpiredTokenException":
        return Refusal(Why.UNKNOWN_CALLER, BackendUnavailable(f"the credentials have expired ({kind})"))
    if answer.status >= 500:
        return unanswered(f"DynamoDB failed ({answer.status})")
    if not re.fullmatch("[A-Za-z]{1,64}", kind):
        return unanswered(f"what answers there does not speak as DynamoDB does ({answer.status})")
    why = Why.UNKNOWN_CALLER if kind in CREDENTIALS_REFUSED else Why.REFUSED
    text = _MISCONFIGURED.get(kind, "DynamoDB refuses the call")
    return Refusal(why, BackendMisconfigured(f"{text} ({kind})"))


def is_an_answer(body: bytes) -> bool:
    """Whether a body can be DynamoDB's; what a portal or a proxy says must not acknowledge a write."""
    try:
        msgspec.json.decode(body, type=_Object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def unanswered(reason: str) -> Refusal:
    """No answer, or one that leaves open what happened."""
    return Refusal(Why.UNANSWERED, BackendUnavailable(reason))


def _read(answer: Answer) -> _Body:
    try:
        return msgspec.json.decode(answer.body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _Body()
