"""Samples of usage counters and of processes' starts. All times are Unix milliseconds."""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from gateway.observability.catalogue import (
    OUTCOME_LABEL,
    TENANT_LABELS,
    USAGE_REQUEST_BYTES,
    USAGE_REQUESTS,
    USAGE_RESPONSE_BYTES,
)

REQUESTS = USAGE_REQUESTS.name
COUNTERS = {
    REQUESTS: "requests",
    USAGE_REQUEST_BYTES.name: "request_bytes",
    USAGE_RESPONSE_BYTES.name: "response_bytes",
}
"""The column of each counter."""

TENANT = TENANT_LABELS
OUTCOME = OUTCOME_LABEL
_OWN = {"__name__", *TENANT, OUTCOME}

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""


class Series(Struct, frozen=True):
    """Points are (time, value), in the order of time."""

    labels: Labels
    points: list[tuple[int, float]]

    @property
    def target(self) -> Labels:
        """What Prometheus scraped: the labels that it added to the gateway's own."""
        return tuple(label for label in self.labels if label[0] not in _OWN)


class TooManySamples(Exception):
    """The range is too long for the archive."""


class Archive(Protocol):
    """Where samples are kept. Ranges are (after, until]. All methods may raise TooManySamples."""

    def counters(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        """All samples of all usage counters."""

    def starts(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        """All samples of the gateways' start times, in seconds."""

    def targets(self, after_ms: int, until_ms: int) -> Iterable[Labels]:
        """The targets that showed any usage counter."""

    def ends(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series] | None:
        """The lowest and the last value of each counter of a target, at times that mean nothing.

        None if any of them fell.
        """

    def last_counters(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series]:
        """The last value of each counter of a target; the times of these points mean nothing."""
