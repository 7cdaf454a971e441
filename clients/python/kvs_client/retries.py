"""Retries of a call, and the pauses before them. Pure: times are arguments, pauses are results.

Pauses have full jitter (uniform between 0 and an exponential bound), so that clients that failed together do
not retry together. `Retry-After` is the same lower bound for all of them, so a random part is added to it.
"""

import math
from random import random

from kvs_client.answers import REPEATED
from kvs_client.errors import DeadlineExceeded, KvsError
from kvs_client.options import Options

_MOST_DOUBLINGS = 30


class RateLimitGate:
    """Closed after a 429 until its `Retry-After` has passed: meanwhile nothing is sent for the table."""

    def __init__(self) -> None:
        self._until = 0.0
        self._refusal: KvsError | None = None

    def close(self, refusal: KvsError, until: float) -> None:
        if until > self._until:
            self._until, self._refusal = until, refusal

    def refusal(self, now: float) -> KvsError | None:
        """Returns the refusal that a request would get now, or None while the gate is open."""
        if now >= self._until or self._refusal is None:
            return None
        return self._refusal.again(math.ceil(self._until - now))

    def left(self, now: float) -> float:
        return max(0.0, self._until - now)


class RetrySchedule:
    """The deadline of one call, and the error of its last attempt."""

    def __init__(self, options: Options, gate: RateLimitGate, deadline: float) -> None:
        self._options = options
        self._gate = gate
        self._repetitions = 0
        self._last: KvsError | None = None
        self.deadline = deadline

    def pause_at_gate(self, now: float) -> float:
        """Returns 0 while the gate is open. Raises the refusal if it opens after the deadline."""
        refusal = self._gate.refusal(now)
        if refusal is None:
            return 0.0
        return self._after(self._gate.left(now), now, refusal)

    def pause_after(self, failure: KvsError, now: float) -> float:
        """Returns the pause before the next attempt. Raises the failure if it is final or no time is left."""
        self._last = failure
        if failure.status is not None and failure.status not in REPEATED:
            raise failure
        if failure.retry_after_seconds is not None:
            if failure.status == 429:
                self._gate.close(failure, now + failure.retry_after_seconds)
            return self._after(failure.retry_after_seconds, now, failure)
        bound = self._options.backoff_base_seconds * 2 ** min(self._repetitions, _MOST_DOUBLINGS)
        self._repetitions += 1
        pause: float = random() * min(self._options.backoff_cap_seconds, bound)  # noqa: S311 - no secret
        if pause >= self.deadline - now:
            raise failure
        return pause

    def attempt_deadline(self, now: float) -> float:
        """Returns the end of an attempt that starts now. Raises if the deadline has passed."""
        if now >= self.deadline:
            raise self.timeout_error()
        return min(self.deadline, now + self._options.attempt_seconds)

    def timeout_error(self) -> KvsError:
        """Returns the error to raise at the deadline: that of the last attempt, if one ended."""
        return self._last or DeadlineExceeded("deadline_exceeded")

    def _after(self, seconds: float, now: float, failure: KvsError) -> float:
        left = self.deadline - now - seconds
        if left <= 0:
            raise failure
        return seconds + random() * min(self._options.backoff_cap_seconds, left / 2)  # noqa: S311 - no secret
