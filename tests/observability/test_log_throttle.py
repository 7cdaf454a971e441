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


def test_each_kind_has_its_own_window(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    assert [throttle.admits(kind) for kind in ("away", "away", "full", "away", "full")] == [1, 0, 1, 0, 0]


def test_the_number_of_kinds_admitted_and_kept_is_bounded(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    assert sum(throttle.admits(f"kind {number}") for number in range(1000)) == 100
    assert len(throttle._windows) == 100
    seconds.now += 10
    assert throttle.admits("kind 1000")
    assert len(throttle._windows) == 1


def test_a_known_kind_is_admitted_again_at_the_bound(seconds):
    throttle = LogThrottle(1, 10.0, seconds)
    for number in range(100):
        throttle.admits(f"kind {number}")
        seconds.now += 0.05
    seconds.now += 6
    assert throttle.admits("kind 0")
