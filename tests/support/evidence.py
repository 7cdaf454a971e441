"""Evidence of the running test: its load and its faults, which `make faults` adds up."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Evidence:
    """Numbers of one test, or of several added up."""

    answered: int = 0
    """Requests that got an answer of any status."""
    refused: int = 0
    """Answers with 503."""
    limited: int = 0
    """Answers with 429."""
    unanswered: int = 0
    """The connection ended first: the replica was killed, or the link was cut."""
    wrong: int = 0
    """Answers that contradict acknowledged writes."""
    tried: int = 0
    """Bad inputs, attacks, simulated runs."""
    load_seconds: float = 0.0
    slowest_seconds: float = 0.0
    held_up_seconds: float = 0.0
    """The longest time for which an event loop was blocked."""
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Evidence") -> None:
        for name in ("answered", "refused", "limited", "unanswered", "wrong", "tried", "load_seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("slowest_seconds", "held_up_seconds"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self.faults += other.faults

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "faults": dict(self.faults)}

    @classmethod
    def from_json(cls, numbers: dict[str, Any]) -> "Evidence":
        return cls(**{**numbers, "faults": Counter(numbers["faults"])})


_current = Evidence()


def note(**numbers: Any) -> None:
    """Adds numbers to the evidence of the running test."""
    _current.add(Evidence(**numbers))


def note_fault(name: str, times: int = 1) -> None:
    note(faults=Counter({name: times}))


def note_statuses(statuses: Counter[int], **numbers: Any) -> None:
    """Notes answers by status; 0 counts requests without an answer."""
    answered = statuses.total() - statuses[0]
    note(
        answered=answered,
        refused=statuses[503],
        limited=statuses[429],
        unanswered=statuses[0],
        **numbers,
    )


def take() -> Evidence:
    """Returns the evidence since the last call."""
    global _current
    taken, _current = _current, Evidence()
    return taken
