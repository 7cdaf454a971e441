"""Samples of usage counters and of process starts. All times are Unix milliseconds."""

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
"""Column of each counter."""

TENANT = TENANT_LABELS
OUTCOME = OUTCOME_LABEL
_OWN = {"__name__", *TENANT, OUTCOME}

Labels = tuple[tuple[str, str], ...]
"""Label names and values, sorted by name."""


class Series(Struct, frozen=True):
    """One series; its points are (time, value), in order of time."""

    labels: Labels
    points: list[tuple[int, float]]

    @property
    def target(self) -> Labels:
        """The scraped target: the labels that Prometheus added to the gateway's own."""
        return tuple(label for label in self.labels if label[0] not in _OWN)


class TooManySamples(Exception):
    """The range is too long for the archive."""


class Archive(Protocol):
    """Storage of samples. Ranges are (after, until]. All methods may raise TooManySamples."""

    def counters(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        """Returns all samples of all usage counters."""

    def starts(self, after_ms: int, until_ms: int) -> Iterable[Series]:
        """Returns all samples of the gateways' start times, in seconds."""

    def targets(self, after_ms: int, until_ms: int) -> Iterable[Labels]:
        """Returns the targets that exposed any usage counter."""

    def ends(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series] | None:
        """Returns the lowest and the last value of each counter of a target; None if any of them fell.

        The times of these points mean nothing.
        """

    def last_counters(self, target: Labels, after_ms: int, until_ms: int) -> Iterable[Series]:
        """Returns the last value of each counter of a target; the times of these points mean nothing."""
