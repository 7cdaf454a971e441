"""Whether what clients saw of one key could have happened in some order, one operation at a time (D111).

Wing and Gong's search with Lowe's memory of states, for an entry that is put, got, deleted, put or deleted
on a condition, and added to: an order of all operations is looked for in which each stands between its
invocation and its return, each get finds what the last write before it left, each conditional write finds
the entry that its condition names, and each sum is the one before it and what was added.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

MISSING = None
PRESENT = object()
"""In a condition: any entry, whichever it is."""
NEVER = math.inf


@dataclass(frozen=True)
class Write:
    """A put of `value`, or a delete if that is MISSING. Without an answer it may apply at any later time."""

    value: Hashable
    invoked: float
    returned: float = NEVER

    def after(self, _: Hashable) -> tuple[Hashable] | None:
        return (self.value,)

    def is_like(self) -> Hashable:
        return self.value


@dataclass(frozen=True)
class Swap:
    """A put of `value`, or a delete, that was done because the entry was `expected`.

    Without an answer it may apply at any later time, if the entry is `expected` then. A refused one is a read
    of the entry that it found.
    """

    expected: Hashable
    value: Hashable
    invoked: float
    returned: float = NEVER

    def after(self, found: Hashable) -> tuple[Hashable] | None:
        is_met = found is not MISSING if self.expected is PRESENT else found == self.expected
        return (self.value,) if is_met else None

    def is_like(self) -> Hashable:
        return self.expected, self.value


@dataclass(frozen=True)
class Add:
    """An addition whose sum is `total`; one without an answer has none, and may apply at any later time."""

    by: int
    total: int | None
    invoked: float
    returned: float = NEVER

    def after(self, found: Hashable) -> tuple[Hashable] | None:
        if found is not MISSING and not isinstance(found, int):
            return None
        total = self.by + (0 if found is MISSING else found)
        return (total,) if self.total in (None, total) else None

    def is_like(self) -> Hashable:
        return ("add", self.by)


@dataclass(frozen=True)
class Read:
    """A get that found `value`. One without an answer says nothing: leave it out."""

    value: Hashable
    invoked: float
    returned: float


Change = Write | Swap | Add
Operation = Change | Read


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
        self.answered = [operation for operation in in_order if operation.returned != NEVER]
        seen = _seen_by(self.answered)
        # What was given up and never seen needs no place: it may stand at the end.
        given_up = [each for each in in_order if each.returned == NEVER and not isinstance(each, Read)]
        self.unanswered = [each for each in given_up if isinstance(each, Add) or seen(each.value)]
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
        for number, change in enumerate(self.unanswered):
            if change.invoked > bound:
                break
            is_left = not state.given_up >> number & 1
            after = change.after(state.value)
            if is_left and after and change.is_like() not in alike:  # of those alike the earliest will do
                alike.add(change.is_like())
                given_up = state.given_up | 1 << number
                following.append(_State(state.done, state.ahead, given_up, *after))
        for place in reversed(candidates):
            operation = self.answered[place]
            after = None if isinstance(operation, Read) else operation.after(state.value)
            if after:
                following.append(_with(state, place, *after))
        return following


def _seen_by(answered: Sequence[Operation]) -> Callable[[Hashable], bool]:
    """Returns a test of whether any answer depends on a value."""
    seen: set[Hashable] = set()
    for operation in answered:
        if isinstance(operation, Read):
            seen.add(operation.value)
        elif isinstance(operation, Swap):
            seen.add(operation.expected)
        elif isinstance(operation, Add):  # any integer, and none
            return lambda _: True
    return lambda value: value in seen or (PRESENT in seen and value is not MISSING)


def _with(state: _State, place: int, value: Hashable) -> _State:
    done, ahead = state.done, state.ahead | 1 << (place - state.done)
    while ahead & 1:
        done, ahead = done + 1, ahead >> 1
    return _State(done, ahead, state.given_up, value)
