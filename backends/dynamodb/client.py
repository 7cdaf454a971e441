"""Calls of DynamoDB: signed, within deadlines, retried where that is safe and within the budget (D105)."""

import asyncio
import random
from typing import Any
from zlib import crc32

import msgspec

from backends.breaker import Breaker
from backends.dynamodb.credentials import FreshCredentials
from backends.dynamodb.failures import (
    Action,
    Cause,
    ConditionFailed,
    Failure,
    RetryBudget,
    failure_of,
    is_dynamodb_output,
    may_be_repeated,
    too_large,
    unanswered,
)
from backends.dynamodb.items import NOT_DYNAMODB
from backends.dynamodb.store_time import StoreTime
from backends.dynamodb.transport import (
    AwsCredentials,
    ConnectionBroken,
    HttpReply,
    NotReached,
    Post,
    Signer,
    TooLarge,
)
from backends.errors import BackendUnavailable

ATTEMPT_SECONDS = 0.5
CALL_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.8
MAX_IN_FLIGHT = 1000


class Client:
    """Client for the region of one table."""

    def __init__(
        self,
        post: Post,
        signer: Signer,
        credentials: FreshCredentials,
        breaker: Breaker,
        time: StoreTime,
    ) -> None:
        self._post = post
        self._time = time
        self._signer = signer
        self._credentials = credentials
        self._breaker = breaker
        self._budget = RetryBudget()
        self._in_flight = 0

    def deadline(self) -> float:
        """Returns the end, on the clock of the loop, of an operation that begins now."""
        return asyncio.get_running_loop().time() + CALL_SECONDS

    async def call(self, action: Action, request: dict[str, Any], ends_at: float | None = None) -> bytes:
        """Returns the body of the reply. Raises BackendError or ConditionFailed.

        An operation of several calls gives them its own deadline, `ends_at`.
        """
        self._breaker.admit()
        if self._in_flight >= MAX_IN_FLIGHT:
            raise BackendUnavailable("too many calls in flight")
        self._in_flight += 1
        self._budget.save()
        try:
            result = await self._attempts(action, msgspec.json.encode(request), ends_at or self.deadline())
        finally:
            self._in_flight -= 1
        if isinstance(result, bytes):
            return result
        raise result.error

    async def _attempts(self, action: Action, body: bytes, ends_at: float) -> bytes | Failure:
        """Returns the first good reply, or the last failure.

        Attempts are separated by exponential backoff with full jitter, so that calls throttled together do
        not retry together. Each attempt has its own deadline: a reply that has taken 500 ms is most likely
        lost, while another attempt may reach a healthy host.
        """
        loop = asyncio.get_running_loop()
        longest_pause = FIRST_PAUSE_SECONDS
        while True:
            result = await self._attempt(action, body, min(loop.time() + ATTEMPT_SECONDS, ends_at))
            if isinstance(result, bytes) or not may_be_repeated(action, result):
                return result
            pause = random.uniform(0, longest_pause)  # noqa: S311 - spreads load, guards nothing
            if loop.time() + pause >= ends_at or not self._budget.spend():
                return result
            await asyncio.sleep(pause)
            longest_pause = min(2 * longest_pause, LONGEST_PAUSE_SECONDS)

    async def _attempt(self, action: Action, body: bytes, due: float) -> bytes | Failure:
        """Makes one attempt; sends nothing once `due` has passed. Raises ConditionFailed."""
        credentials = await self._credentials.current(due)
        try:
            async with asyncio.timeout_at(due):
                if asyncio.get_running_loop().time() >= due:
                    raise NotReached  # noqa: TRY301 - the request would be sent before the timer fires
                asked_ms = self._time.monotonic_ms()
                reply = await self._post(self._signer.headers(credentials, action.value, body), body, due)
                self._time.note(reply.date, asked_ms)
        except TimeoutError:
            return self._failed(unanswered("DynamoDB did not answer in time"))
        except NotReached:
            return self._failed(Failure(Cause.UNREACHED, BackendUnavailable("cannot connect to DynamoDB")))
        except ConnectionBroken:
            return self._failed(unanswered("the connection to DynamoDB was lost"))
        except TooLarge:
            return too_large()
        if reply.crc32 is not None and reply.crc32 != str(crc32(reply.body)):
            return self._failed(unanswered("the checksum of a DynamoDB response is wrong"))
        if reply.status != 200:
            return self._judge(reply, credentials)
        if not is_dynamodb_output(reply.body):
            return self._failed(unanswered(NOT_DYNAMODB))
        self._breaker.succeeded()
        return reply.body

    def _judge(self, reply: HttpReply, credentials: AwsCredentials) -> Failure:
        try:
            failure = failure_of(reply)
        except ConditionFailed:
            self._breaker.succeeded()
            raise
        if failure.cause is Cause.UNANSWERED:
            return self._failed(failure)
        self._breaker.succeeded()
        if failure.cause is Cause.BAD_CREDENTIALS:
            self._credentials.invalidate(credentials)
        return failure

    def _failed(self, failure: Failure) -> Failure:
        self._breaker.failed(failure.error)
        return failure
