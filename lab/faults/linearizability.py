"""Whether what clients saw of one key could have happened in some order, one operation at a time (D111).

Wing and Gong's search with Lowe's memory of states, for a register that is put, got and deleted:
an order of all operations is looked for in which each stands between its invocation and its return,
and each get finds what the last write before it left.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MISSING = None
NEVER = math.inf


@dataclass(frozen=True)
class Write:
    """A put of `value`, or a delete if that is MISSING. Without an answer it may apply at any later time."""

    value: Hashable
    invoked: float
    returned: float = NEVER


@dataclass(frozen=True)
class Read:
    """A get that found `value`. One without an answer says nothing: leave it out."""

    value: Hashable
    invoked: float
    returned: float


Operation = Write | Read


@dataclass(frozen=True)
class _State:
    """Done are the first `done` answered operations, those in `ahead` (bits from there on) and `given_up`."""

    done: int
    ahead: int
    given_up: int
    value: Hashable


def first_violation(history: Sequence[Operation]) -> Operation | None:
    """Returns the earliest answered operation that fits into no order, or None if an order exists."""
    search = _Search(history)
    return None if search.finds_an_order() else search.answered[search.furthest]


class _Search:
    def __init__(self, history: Sequence[Operation]) -> None:
        in_order = sorted(history, key=lambda operation: operation.invoked)
        found = {operation.value for operation in in_order if isinstance(operation, Read)}
        self.answered = [operation for operation in in_order if operation.returned != NEVER]
        # What was given up and never seen needs no place: it may stand at the end.
        self.unanswered = [each for each in in_order if each.returned == NEVER and each.value in found]
        self.furthest = 0

    def finds_an_order(self) -> bool:
        to_do = [self._after_reads(_State(0, 0, 0, MISSING))]
        seen = set(to_do)
        while to_do:
            state = to_do.pop()
            if state.done == len(self.answered):
                return True
            self.furthest = max(self.furthest, state.done)
            for following in self._writes_after(state):
                reached = self._after_reads(following)
                if reached not in seen:
                    seen.add(reached)
                    to_do.append(reached)
        return False

    def _candidates(self, state: _State) -> list[int]:
        """Returns the answered operations that may be next: those invoked before any other returned."""
        candidates, bound = [], NEVER
        for place in range(state.done, len(self.answered)):
            operation = self.answered[place]
            if operation.invoked > bound:
                break
            if not state.ahead >> (place - state.done) & 1:
                candidates.append(place)
                bound = min(bound, operation.returned)
        return candidates

    def _after_reads(self, state: _State) -> _State:
        """Reads of what is there change nothing, so that none need wait."""
        while True:
            for place in self._candidates(state):
                operation = self.answered[place]
                if isinstance(operation, Read) and operation.value == state.value:
                    state = _with(state, place, state.value)
                    break
            else:
                return state

    def _writes_after(self, state: _State) -> list[_State]:
        candidates = self._candidates(state)
        bound = min((self.answered[place].returned for place in candidates), default=NEVER)
        following = []
        alike: set[Hashable] = set()
        for number, write in enumerate(self.unanswered):
            if write.invoked > bound:
                break
            is_left = not state.given_up >> number & 1
            if is_left and write.value not in alike:  # of those alike the earliest will do
                alike.add(write.value)
                given_up = state.given_up | 1 << number
                following.append(_State(state.done, state.ahead, given_up, write.value))
        for place in reversed(candidates):
            operation = self.answered[place]
            if isinstance(operation, Write):
                following.append(_with(state, place, operation.value))
        return following


def _with(state: _State, place: int, value: Hashable) -> _State:
    done, ahead = state.done, state.ahead | 1 << (place - state.done)
    while ahead & 1:
        done, ahead = done + 1, ahead >> 1
    return _State(done, ahead, state.given_up, value)
