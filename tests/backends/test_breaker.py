"""The circuit breaker opens after five consecutive failures and admits one probe per second."""

import pytest

from backends.breaker import FAILURES_TO_OPEN, PROBE_EVERY_MS, Breaker
from backends.errors import BackendUnavailable

FAULT = BackendUnavailable("the store is tired")


@pytest.fixture
def breaker(clock) -> Breaker:
    return Breaker(clock.monotonic_ms)


@pytest.fixture
def opened(breaker) -> Breaker:
    fail(breaker, FAILURES_TO_OPEN)
    return breaker


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        breaker.admit()
        breaker.failed(FAULT)


def admits(breaker: Breaker) -> bool:
    try:
        breaker.admit()
    except BackendUnavailable:
        return False
    return True


def test_the_numbers_are_those_of_the_design():
    assert (FAILURES_TO_OPEN, PROBE_EVERY_MS) == (5, 1000)


def test_a_new_breaker_admits_everything(breaker):
    assert all(admits(breaker) for _ in range(100))
    assert not breaker.is_open


def test_four_failures_in_a_row_do_not_open_it(breaker):
    fail(breaker, 4)
    assert not breaker.is_open
    assert all(admits(breaker) for _ in range(100))


def test_the_fifth_failure_in_a_row_opens_it(breaker):
    fail(breaker, 5)
    assert breaker.is_open
    assert not any(admits(breaker) for _ in range(100))


def test_a_success_in_between_restarts_the_count(breaker):
    for _ in range(10):
        fail(breaker, 4)
        breaker.succeeded()
    assert admits(breaker)


def test_an_open_breaker_admits_one_probe_after_a_second(opened, clock):
    clock.advance(999)
    assert not admits(opened)
    clock.advance(1)
    assert [admits(opened) for _ in range(10)] == [True] + [False] * 9


def test_failing_probes_are_a_second_apart(opened, clock):
    admitted = 0
    for _ in range(10_000):
        clock.advance(1)
        if admits(opened):
            admitted += 1
            opened.failed(FAULT)
    assert admitted == 10
    assert opened.is_open


def test_an_abandoned_probe_is_followed_by_another(opened, clock):
    clock.advance(1000)
    assert admits(opened)
    clock.advance(1000)
    assert admits(opened)


def test_a_success_closes_it(opened, clock):
    clock.advance(1000)
    opened.admit()
    opened.succeeded()
    assert not opened.is_open
    assert all(admits(opened) for _ in range(100))


def test_a_success_of_a_call_in_flight_closes_it(opened):
    opened.succeeded()
    assert admits(opened)


def test_a_closed_breaker_takes_five_failures_to_open_again(opened):
    opened.succeeded()
    fail(opened, 4)
    assert not opened.is_open
    fail(opened, 1)
    assert not admits(opened)


def test_failures_of_calls_in_flight_do_not_postpone_the_probe(opened, clock):
    clock.advance(900)
    for _ in range(1000):
        opened.failed(FAULT)
    clock.advance(100)
    assert admits(opened)


def test_a_jump_of_the_wall_clock_changes_nothing(opened, clock):
    clock.jump_wall(3_600_000)
    assert not admits(opened)
    clock.jump_wall(-7_200_000)
    clock.advance(1000)
    assert admits(opened)


def test_an_open_breaker_refuses_with_the_last_reason(opened):
    with pytest.raises(BackendUnavailable, match="the circuit breaker is open: the store is tired"):
        opened.admit()
