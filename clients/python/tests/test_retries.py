"""Retries and the pauses before them, on times given by the test."""

import pytest
from kvs_client import DeadlineExceeded, NotAuthorized, Options, RateLimited, Unavailable
from kvs_client.retries import RateLimitGate, RetrySchedule

OPTIONS = Options(backoff_base_seconds=0.1, backoff_cap_seconds=1)
MANY = 300


def schedule_until(deadline, gate=None, options=OPTIONS):
    return RetrySchedule(options, gate or RateLimitGate(), deadline)


def unanswered():
    return Unavailable("no_answer")


def limited(seconds):
    return RateLimited("rate_limited", status=429, retry_after_seconds=seconds)


def test_pauses_are_spread_between_zero_and_a_bound_that_doubles_up_to_the_cap():
    for repetition, bound in enumerate([0.1, 0.2, 0.4, 0.8, 1, 1]):
        pauses = []
        for _ in range(MANY):
            schedule = schedule_until(1_000_000)
            for _ in range(repetition):
                schedule.pause_after(unanswered(), 0)
            pauses.append(schedule.pause_after(unanswered(), 0))
        assert 0 <= min(pauses) < bound / 4
        assert bound * 3 / 4 < max(pauses) <= bound


def test_a_random_part_is_added_to_retry_after():
    gate = RateLimitGate()
    pauses = [schedule_until(1_000, gate).pause_after(limited(10), 0) for _ in range(MANY)]
    assert 10 <= min(pauses) < 10.25
    assert 10.75 < max(pauses) <= 11


def test_call_fails_immediately_if_the_pause_would_pass_the_deadline():
    with pytest.raises(RateLimited):
        schedule_until(10).pause_after(limited(10), 0)
    with pytest.raises(Unavailable):
        schedule_until(0, options=Options(backoff_base_seconds=1e9, backoff_cap_seconds=1e9)).pause_after(
            unanswered(), 0
        )


def test_random_part_leaves_half_of_the_time_for_the_attempt():
    pauses = [schedule_until(10.5).pause_after(limited(10), 0) for _ in range(MANY)]
    assert max(pauses) <= 10.25


def test_final_error_is_raised_immediately():
    refusal = NotAuthorized("invalid_token", status=401)
    with pytest.raises(NotAuthorized):
        schedule_until(1_000).pause_after(refusal, 0)


def test_429_closes_the_gate_for_all_calls_until_its_retry_after():
    gate = RateLimitGate()
    assert schedule_until(100, gate).pause_at_gate(0) == 0
    schedule_until(100, gate).pause_after(limited(10), 0)
    assert 5 <= schedule_until(100, gate).pause_at_gate(5) <= 6
    assert schedule_until(100, gate).pause_at_gate(10) == 0
    with pytest.raises(RateLimited) as caught:
        schedule_until(8, gate).pause_at_gate(5.5)
    assert caught.value.retry_after_seconds == 5


def test_shorter_retry_after_does_not_open_the_gate_earlier():
    gate = RateLimitGate()
    gate.close(limited(10), 10)
    gate.close(limited(1), 3)
    assert gate.left(5) == 5


def test_error_of_the_last_attempt_is_raised_at_the_deadline():
    schedule = schedule_until(10)
    with pytest.raises(DeadlineExceeded):
        schedule.attempt_deadline(10)
    schedule.pause_after(unanswered(), 0)
    assert schedule.timeout_error().code == "no_answer"


def test_attempt_ends_at_its_own_limit_or_at_the_deadline():
    schedule = schedule_until(8)
    assert schedule.attempt_deadline(1) == 6
    assert schedule.attempt_deadline(5) == 8
