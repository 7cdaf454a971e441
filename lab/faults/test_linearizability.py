"""The judge of histories: it accepts what could have happened in some order, and nothing else."""

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.faults.linearizability import MISSING, NEVER, Operation, Read, Write, first_violation

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
    for number in range(draw(st.integers(0, 6))):
        invoked = draw(st.integers(0, 12)) + number / 100
        returned = invoked + draw(st.integers(0, 6)) + 0.5
        value = draw(st.sampled_from([MISSING, 1, 2]))
        if draw(st.booleans()):
            history.append(Read(value, invoked, returned))
        else:
            history.append(Write(value, invoked, NEVER if draw(st.booleans()) else returned))
    return history


def happened_in(order: tuple[Operation, ...]) -> bool:
    """Checks the definition: real time is respected, and each read returns the last write."""
    value, latest_invocation = MISSING, -math.inf
    for operation in order:
        if operation.returned < latest_invocation:
            return False
        latest_invocation = max(latest_invocation, operation.invoked)
        if isinstance(operation, Write):
            value = operation.value
        elif operation.value != value:
            return False
    return True


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
