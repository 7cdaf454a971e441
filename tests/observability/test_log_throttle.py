"""Lines about the same thing are few, however often it happens, and do not silence others."""

import pytest

from gateway.observability.logs import LogThrottle


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def admitted(throttle: LogThrottle, kind: str = "", times: int = 10) -> int:
    return sum(throttle.admits(kind) for _ in range(times))


@pytest.mark.parametrize("lines", [1, 3])
def test_no_more_lines_than_allowed_are_admitted(seconds, lines):
    assert admitted(LogThrottle(lines, 10.0, seconds)) == lines


def test_the_time_begins_with_the_first_line(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    assert throttle.admits()
    seconds.now += 9.9
    assert not throttle.admits()
    seconds.now += 0.1
    assert admitted(throttle) == 1
    seconds.now += 9.9
    assert not throttle.admits()


def test_kinds_are_counted_apart(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    assert [throttle.admits(kind) for kind in ("away", "away", "full", "away", "full")] == [1, 0, 1, 0, 0]


def test_of_any_number_of_kinds_a_bounded_number_is_admitted_and_kept(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    assert sum(throttle.admits(f"kind {number}") for number in range(1000)) == 100
    assert len(throttle._windows) == 100
    seconds.now += 10
    assert throttle.admits("kind 1000")
    assert len(throttle._windows) == 1


def test_a_kind_that_is_known_is_admitted_again_although_there_are_many(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    for number in range(100):
        throttle.admits(f"kind {number}")
        seconds.now += 0.05
    seconds.now += 6
    assert throttle.admits("kind 0")
