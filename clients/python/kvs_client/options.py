"""Timeouts, connections, backoff and size limits of a client."""

import math
from dataclasses import dataclass, fields

from kvs_client.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of a client; all numbers are positive and finite."""

    deadline_seconds: float = 10
    """Limit of a whole call: finding credentials, waiting for a connection, all attempts and pauses."""
    attempt_seconds: float = 5
    """Limit of one attempt, from connecting to the last byte of the answer."""
    connections: int = 64
    """Most open connections, and so most concurrent attempts."""
    backoff_base_seconds: float = 0.1
    """The pause before retry n is random, between 0 and base * 2**n, at most the cap."""
    backoff_cap_seconds: float = 1
    """The longest pause, and the longest random part added to `Retry-After`."""
    answer_bytes: int = 1_048_576
    """The longest answer body that is read."""

    def __post_init__(self) -> None:
        for each in fields(self):
            positive(each.name, getattr(self, each.name), whole=each.type is int)


def positive(name: str, number: object, *, whole: bool = False) -> None:
    """Raises unless the value is a positive number."""
    kinds = (int,) if whole else (int, float)
    if isinstance(number, bool) or not isinstance(number, kinds):
        raise ConfigurationError(
            "invalid_option", f"{name}: expected {'an integer' if whole else 'a number'}"
        )
    if not (math.isfinite(number) and number > 0):
        raise ConfigurationError("invalid_option", f"{name}: expected a positive, finite number")
