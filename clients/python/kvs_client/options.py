"""How patient a client is, and how much it reads."""

import math
from dataclasses import dataclass, fields

from kvs_client.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Options:
    """All have defaults; numbers are positive and finite."""

    deadline_seconds: float = 10
    """A whole call: finding credentials, waiting for a connection, all attempts and pauses."""
    attempt_seconds: float = 5
    """One attempt, from connecting to the last byte of the answer."""
    connections: int = 64
    """How many may be open, which is how many attempts are under way."""
    backoff_base_seconds: float = 0.1
    """The pause before the n-th repetition is random, between 0 and base * 2**n, at most the cap."""
    backoff_cap_seconds: float = 1
    """The longest pause, and how far those who were told the same `Retry-After` are spread."""
    answer_bytes: int = 1_048_576
    """The longest body of an answer that is read."""

    def __post_init__(self) -> None:
        for each in fields(self):
            positive(each.name, getattr(self, each.name), whole=each.type is int)


def positive(name: str, number: object, *, whole: bool = False) -> None:
    """Refuses what is not a positive number."""
    kinds = (int,) if whole else (int, float)
    if isinstance(number, bool) or not isinstance(number, kinds):
        raise ConfigurationError("invalid_option", f"{name}: not a number")
    if not (math.isfinite(number) and number > 0):
        raise ConfigurationError("invalid_option", f"{name}: not positive")
