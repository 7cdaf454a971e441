"""A call of DynamoDB: signed, within deadlines, repeated where that is safe and can be afforded (D105)."""

import asyncio
import random
from enum import Enum
from typing import Any
from zlib import crc32

import msgspec

from backends.breaker import Breaker
from backends.dynamodb.credentials import FreshCredentials
from backends.dynamodb.refusals import ConditionFailed, Refusal, Why, is_an_answer, refusal_of, unanswered
from backends.dynamodb.signing import Credentials, Signer
from backends.dynamodb.transport import Answer, Broken, NotReached, Post
from backends.errors import BackendUnavailable

ATTEMPT_SECONDS = 0.5
CALL_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.8
MAX_IN_FLIGHT = 1000

_SAVED_PER_CALL = 0.1
_MOST_SAVED = 10.0


class Action(Enum):
    """What DynamoDB is asked to do."""

    GET = "GetItem"
    QUERY = "Query"
    PUT = "PutItem"
    UPDATE = "UpdateItem"
    DELETE = "DeleteItem"
    DELETE_MANY = "BatchWriteItem"

    @property
    def is_repeatable(self) -> bool:
        """Whether doing it once more later does no harm; only tables that nobody uses are emptied."""
        return self in (Action.GET, Action.QUERY, Action.DELETE_MANY)


class RetryBudget:
    """Repeats add at most a tenth to the load, however much goes wrong."""

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


class Client:
    """Calls of one table's region."""

    def __init__(self, post: Post, signer: Signer, credentials: FreshCredentials, breaker: Breaker) -> None:
        self._post = post
        self._signer = signer
        self._credentials = credentials
        self._breaker = breaker
        self._budget = RetryBudget()
        self._in_flight = 0

    async def call(self, action: Action, request: dict[str, Any]) -> bytes:
        """The body of the answer. Raises BackendError, or ConditionFailed."""
        self._breaker.admit()
        if self._in_flight >= MAX_IN_FLIGHT:
            raise BackendUnavailable("too many calls in flight")
        self._in_flight += 1
        self._budget.save()
        try:
            answer = await self._attempts(action, msgspec.json.encode(request))
        finally:
            self._in_flight -= 1
        if isinstance(answer, bytes):
            return answer
        raise answer.error

    async def _attempts(self, action: Action, body: bytes) -> bytes | Refusal:
        """The first good answer, or the last refusal."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + CALL_SECONDS
        longest_pause = FIRST_PAUSE_SECONDS
        while True:
            answer = await self._attempt(action, body, min(loop.time() + ATTEMPT_SECONDS, ends_at))
            if isinstance(answer, bytes) or not _is_worth_repeating(action, answer):
                return answer
            pause = random.uniform(0, longest_pause)  # noqa: S311 - spreads load, guards nothing
            if loop.time() + pause >= ends_at or not self._budget.spend():
                return answer
            await asyncio.sleep(pause)
            longest_pause = min(2 * longest_pause, LONGEST_PAUSE_SECONDS)

    async def _attempt(self, action: Action, body: bytes, due: float) -> bytes | Refusal:
        """One attempt. Raises ConditionFailed."""
        credentials = await self._credentials.current(due)
        try:
            async with asyncio.timeout_at(due):
                answer = await self._post(self._signer.headers(credentials, action.value, body), body)
        except TimeoutError:
            return self._failed(unanswered("DynamoDB did not answer in time"))
        except NotReached:
            return self._failed(Refusal(Why.UNREACHED, BackendUnavailable("DynamoDB cannot be reached")))
        except Broken:
            return self._failed(unanswered("the connection to DynamoDB was lost"))
        if answer.crc32 is not None and answer.crc32 != str(crc32(answer.body)):
            return self._failed(unanswered("an answer of DynamoDB was damaged on its way"))
        if answer.status != 200:
            return self._judge(answer, credentials)
        if not is_an_answer(answer.body):
            return self._failed(unanswered("what answers there does not speak as DynamoDB does"))
        self._breaker.succeeded()
        return answer.body

    def _judge(self, answer: Answer, credentials: Credentials) -> Refusal:
        try:
            refusal = refusal_of(answer)
        except ConditionFailed:
            self._breaker.succeeded()
            raise
        if refusal.why is Why.UNANSWERED:
            return self._failed(refusal)
        self._breaker.succeeded()
        if refusal.why is Why.UNKNOWN_CALLER:
            self._credentials.were_refused(credentials)
        return refusal

    def _failed(self, refusal: Refusal) -> Refusal:
        self._breaker.failed(refusal.error)
        return refusal


def _is_worth_repeating(action: Action, refusal: Refusal) -> bool:
    match refusal.why:
        case Why.UNREACHED | Why.THROTTLED:
            return True
        case Why.UNANSWERED:
            return action.is_repeatable
    return False
