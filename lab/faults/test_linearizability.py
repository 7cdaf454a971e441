"""The judge of histories: it accepts what could have happened in some order, and nothing else."""

import math
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.faults.linearizability import (
    MISSING,
    NEVER,
    PRESENT,
    Add,
    Operation,
    Read,
    Swap,
    Write,
    first_violation,
)

GOOD = {
    "nothing": [],
    "a key that was never written is missing": [Read(MISSING, 0, 1)],
    "one after the other": [Write(1, 0, 1), Read(1, 2, 3), Write(MISSING, 4, 5), Read(MISSING, 6, 7)],
    "a get at the same time as a put sees it or not": [Write(1, 0, 9), Read(MISSING, 1, 2), Read(1, 3, 4)],
    "of two puts at once either may be the last": [Write(1, 0, 9), Write(2, 0, 9), Read(1, 10, 11)],
    "two gets at once may see the put in either order": [Write(1, 0, 9), Read(1, 2, 8), Read(MISSING, 3, 7)],
    "a put that was given up may apply": [Write(1, 0), Read(1, 5, 6)],
    "a put that was given up may never apply": [Write(1, 0), Read(MISSING, 5, 6)],
    "a put that was given up may apply after a later one": [
        Write(1, 0),
        Write(2, 1, 2),
        Read(2, 3, 4),
        Read(1, 5, 6),
    ],
    "a delete that was given up may apply late": [
        Write(1, 0, 1),
        Write(MISSING, 2),
        Read(1, 3, 4),
        Read(MISSING, 5, 6),
    ],
    "two deletes that were given up may each take one put": [
        Write(MISSING, 0),
        Write(MISSING, 0),
        *(Write(1, 1, 2), Read(MISSING, 3, 4)),
        *(Write(2, 5, 6), Read(MISSING, 7, 8)),
    ],
    "of two conditional puts on one entry one may win": [
        Write(1, 0, 1),
        *(Swap(1, 2, 2, 9), Read(2, 2, 9), Read(2, 10, 11)),
    ],
    "a put if absent that was given up may apply after a delete": [
        *(Swap(MISSING, 1, 0), Write(2, 1, 2), Write(MISSING, 3, 4), Read(1, 5, 6)),
    ],
    "a conditional delete of any entry": [Write(1, 0, 1), Swap(PRESENT, MISSING, 2, 3), Read(MISSING, 4, 5)],
    "a put that was given up may be the entry of a condition on any": [Write(1, 0), Swap(PRESENT, 2, 1, 2)],
    "a counter from nothing": [Add(1, 1, 0, 1), Add(5, 6, 2, 3), Read(6, 4, 5)],
    "additions at once in either order": [Add(1, 3, 0, 9), Add(2, 2, 0, 9), Read(3, 10, 11)],
    "additions that were given up may apply or not, and late": [
        *(Add(1, None, 0), Add(1, None, 0), Add(1, 1, 1, 2), Add(1, 3, 3, 4), Read(3, 5, 6)),
    ],
}
BAD = {
    "a value that nobody put": [Read(7, 0, 1)],
    "an acknowledged put that is lost": [Write(1, 0, 1), Read(MISSING, 2, 3)],
    "an old value after a newer one was acknowledged": [Write(1, 0, 1), Write(2, 2, 3), Read(1, 4, 5)],
    "a deleted value that is back": [Write(1, 0, 1), Write(MISSING, 2, 3), Read(1, 4, 5)],
    "a value before it was put": [Read(1, 0, 1), Write(1, 2, 3)],
    "seen and then not yet there": [Write(1, 0, 9), Read(1, 2, 3), Read(MISSING, 4, 5)],
    "two gets that disagree on which of two puts came last": [
        *(Write(1, 0, 9), Write(2, 0, 9)),
        *(Read(1, 10, 11), Read(2, 12, 13)),
    ],
    "a put that was given up applies once": [
        *(Write(1, 0), Read(1, 1, 2)),
        *(Write(2, 3, 4), Read(2, 5, 6), Read(1, 7, 8)),
        *(Write(3, 9, 10), Read(1, 11, 12)),
    ],
    "one delete that was given up takes two puts": [
        *(Write(MISSING, 0), Write(1, 1, 2), Read(MISSING, 3, 4)),
        *(Write(2, 5, 6), Read(MISSING, 7, 8)),
    ],
    "two conditional puts on one entry": [Write(1, 0, 1), Swap(1, 2, 2, 9), Swap(1, 3, 2, 9)],
    "two puts if absent": [Swap(MISSING, 1, 0, 9), Swap(MISSING, 2, 0, 9)],
    "a conditional put on an entry that was replaced": [Write(1, 0, 1), Write(2, 2, 3), Swap(1, 3, 4, 5)],
    "a conditional put that was given up replaces another entry": [
        *(Write(1, 0, 1), Swap(1, 2, 2), Write(3, 3, 4), Read(3, 5, 6), Read(2, 7, 8)),
    ],
    "a condition on any entry without one": [Swap(PRESENT, 1, 0, 1)],
    "two additions with one sum": [Add(1, 1, 0, 9), Add(1, 1, 0, 9)],
    "an acknowledged addition that is lost": [Add(1, 1, 0, 1), Read(MISSING, 2, 3)],
    "a sum of more than was added": [Add(1, 1, 0, 1), Add(1, None, 1), Read(3, 4, 5)],
    "an addition that was given up applies once": [
        *(Add(2, None, 0), Read(2, 1, 2), Add(1, 5, 3, 4)),
    ],
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD.keys())
def test_possible_histories_are_accepted(history):
    assert first_violation(history) is None


@pytest.mark.parametrize("history", BAD.values(), ids=BAD.keys())
def test_impossible_histories_are_named(history):
    assert first_violation(history) in history


def test_the_operation_that_does_not_fit_is_named():
    lie = Read(1, 8, 9)
    assert first_violation([Write(1, 0, 1), Write(2, 2, 3), Read(2, 4, 5), lie, Read(2, 10, 11)]) == lie


@st.composite
def histories(draw) -> list[Operation]:
    history: list[Operation] = []
    kinds = draw(st.sampled_from([("read", "write"), ("read", "write", "swap"), ("read", "add", "swap")]))
    for number in range(draw(st.integers(0, 6))):
        invoked = draw(st.integers(0, 12)) + number / 100
        returned = invoked + draw(st.integers(0, 6)) + 0.5
        value = draw(st.sampled_from([MISSING, 1, 2]))
        ends = NEVER if draw(st.booleans()) else returned
        match draw(st.sampled_from(kinds)):
            case "read":
                history.append(Read(value, invoked, returned))
            case "write":
                history.append(Write(value, invoked, ends))
            case "swap":
                expected = draw(st.sampled_from([MISSING, PRESENT, 1, 2]))
                history.append(Swap(expected, value, invoked, ends))
            case "add":
                total = None if ends == NEVER else draw(st.sampled_from([1, 2, 3]))
                history.append(Add(draw(st.sampled_from([1, 2])), total, invoked, ends))
    return history


def happened_in(order: tuple[Operation, ...]) -> bool:
    """Checks the definition: real time is respected, and each operation finds what the last one left.

    An operation without an answer has no effect if it finds another entry than it expects.
    """
    value, latest_invocation = MISSING, -math.inf
    for operation in order:
        if operation.returned < latest_invocation:
            return False
        latest_invocation = max(latest_invocation, operation.invoked)
        after = effect_of(operation, value)
        if after is not None:
            (value,) = after
        elif operation.returned != NEVER:
            return False
    return True


def effect_of(operation: Operation, found: Any) -> tuple[Any] | None:
    match operation:
        case Write(value):
            return (value,)
        case Read(value):
            return (found,) if value == found else None
        case Swap(expected, value):
            is_met = found is not MISSING if expected is PRESENT else found == expected
            return (value,) if is_met else None
        case Add(by, total):
            summed = by + (found or 0)
            return (summed,) if total in (None, summed) else None
    return None


@settings(max_examples=300, deadline=None)
@given(histories())
def test_the_judge_agrees_with_trying_every_order(history):
    assert (first_violation(history) is None) == any(map(happened_in, permutations(history)))


def test_a_long_history_of_many_clients_is_judged_in_little_time():
    history: list[Operation] = []
    for turn in range(40):
        writes = [Write((turn, client), turn, turn + 0.5) for client in range(8)]
        history += [*writes, Write(("given up", turn), turn), Read((turn, turn % 8), turn + 0.6, turn + 0.7)]
    assert first_violation(history) is None
    assert first_violation([*history, Read((38, 0), 600, 601)]) is not None
