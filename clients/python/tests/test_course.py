"""When a call is repeated, and how long it pauses before; no time passes."""

import pytest
from kvs_client import DeadlineExceeded, NotAuthorized, Options, RateLimited, Unavailable
from kvs_client.course import Course, Gate

OPTIONS = Options(backoff_base_seconds=0.1, backoff_cap_seconds=1)
MANY = 300


def unanswered():
    return Unavailable("no_answer")


def limited(seconds):
    return RateLimited("rate_limited", status=429, retry_after_seconds=seconds)


def test_pauses_are_spread_between_zero_and_a_bound_that_doubles_up_to_the_cap():
    for repetition, bound in enumerate([0.1, 0.2, 0.4, 0.8, 1, 1]):
        pauses = []
        for _ in range(MANY):
            course = Course(OPTIONS, Gate(), deadline=1_000_000)
            for _ in range(repetition):
                course.pause_after(unanswered(), 0)
            pauses.append(course.pause_after(unanswered(), 0))
        assert 0 <= min(pauses) < bound / 4
        assert bound * 3 / 4 < max(pauses) <= bound


def test_those_who_were_told_the_same_end_come_back_spread_behind_it():
    gate = Gate()
    pauses = [Course(OPTIONS, gate, deadline=1_000).pause_after(limited(10), 0) for _ in range(MANY)]
    assert 10 <= min(pauses) < 10.25
    assert 10.75 < max(pauses) <= 11


def test_a_pause_beyond_the_deadline_is_not_made():
    with pytest.raises(RateLimited):
        Course(OPTIONS, Gate(), deadline=10).pause_after(limited(10), 0)
    with pytest.raises(Unavailable):
        Course(Options(backoff_base_seconds=1e9, backoff_cap_seconds=1e9), Gate(), 0).pause_after(
            unanswered(), 0
        )


def test_the_random_part_leaves_half_of_the_time_for_the_attempt():
    pauses = [Course(OPTIONS, Gate(), deadline=10.5).pause_after(limited(10), 0) for _ in range(MANY)]
    assert max(pauses) <= 10.25


def test_whatever_is_final_is_raised_at_once():
    refusal = NotAuthorized("invalid_token", status=401)
    with pytest.raises(NotAuthorized):
        Course(OPTIONS, Gate(), deadline=1_000).pause_after(refusal, 0)


def test_a_limit_closes_the_gate_for_all_calls_until_its_end():
    gate = Gate()
    assert Course(OPTIONS, gate, deadline=100).pause_at_gate(0) == 0
    Course(OPTIONS, gate, deadline=100).pause_after(limited(10), 0)
    assert 5 <= Course(OPTIONS, gate, deadline=100).pause_at_gate(5) <= 6
    assert Course(OPTIONS, gate, deadline=100).pause_at_gate(10) == 0
    with pytest.raises(RateLimited) as caught:
        Course(OPTIONS, gate, deadline=8).pause_at_gate(5.5)
    assert caught.value.retry_after_seconds == 5


def test_an_earlier_end_does_not_open_a_gate_that_closes_for_longer():
    gate = Gate()
    gate.close(limited(10), 10)
    gate.close(limited(1), 3)
    assert gate.left(5) == 5


def test_at_the_deadline_the_last_attempt_that_ended_is_told():
    course = Course(OPTIONS, Gate(), deadline=10)
    with pytest.raises(DeadlineExceeded):
        course.attempt_ends(10)
    course.pause_after(unanswered(), 0)
    assert course.cut().code == "no_answer"


def test_an_attempt_ends_with_its_own_time_or_with_the_deadline():
    course = Course(OPTIONS, Gate(), deadline=8)
    assert course.attempt_ends(1) == 6
    assert course.attempt_ends(5) == 8
