"""When a call is repeated, and how long it pauses before. Pure: times come in, pauses go out.

Pauses have full jitter (uniform between 0 and an exponential bound): of clients that failed together no
two come back together. What the gateway says about time, `Retry-After`, is a lower bound that all were told
alike, so a random part follows it.
"""

import math
from random import random

from kvs_client.answers import REPEATED
from kvs_client.errors import DeadlineExceeded, KvsError
from kvs_client.options import Options

_MOST_DOUBLINGS = 30


class Gate:
    """Closed from a 429 until its `Retry-After` is over: meanwhile nothing is sent for the table."""

    def __init__(self) -> None:
        self._until = 0.0
        self._refusal: KvsError | None = None

    def close(self, refusal: KvsError, until: float) -> None:
        if until > self._until:
            self._until, self._refusal = until, refusal

    def refusal(self, now: float) -> KvsError | None:
        """While it is closed: what a request would be answered."""
        if now >= self._until or self._refusal is None:
            return None
        return self._refusal.again(math.ceil(self._until - now))

    def left(self, now: float) -> float:
        return max(0.0, self._until - now)


class Course:
    """One call: its deadline, and what its attempts came to."""

    def __init__(self, options: Options, gate: Gate, deadline: float) -> None:
        self._options = options
        self._gate = gate
        self._repetitions = 0
        self._last: KvsError | None = None
        self.deadline = deadline

    def pause_at_gate(self, now: float) -> float:
        """0: it is open. Raises the refusal if it opens too late."""
        refusal = self._gate.refusal(now)
        if refusal is None:
            return 0.0
        return self._after(self._gate.left(now), now, refusal)

    def pause_after(self, failure: KvsError, now: float) -> float:
        """Raises the failure if it is final, or if there is no time left."""
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

    def attempt_ends(self, now: float) -> float:
        """When an attempt that begins now is cut. Raises if the deadline is over."""
        if now >= self.deadline:
            raise self.cut()
        return min(self.deadline, now + self._options.attempt_seconds)

    def cut(self) -> KvsError:
        """What to raise at the deadline."""
        return self._last or DeadlineExceeded("deadline_exceeded")

    def _after(self, seconds: float, now: float, failure: KvsError) -> float:
        left = self.deadline - now - seconds
        if left <= 0:
            raise failure
        return seconds + random() * min(self._options.backoff_cap_seconds, left / 2)  # noqa: S311 - no secret
