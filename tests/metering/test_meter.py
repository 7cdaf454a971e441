"""Design, section 3, stage 8: no path reaches a store without a meter, and it is closed in every case."""

import asyncio

import pytest

from backends.interface import Keyspace
from gateway.answers import Answer
from gateway.headers import Headers
from gateway.metering.meter import Meter
from gateway.metering.usage import Usage
from gateway.model import Call, Grant, Operation, UsageOutcome
from tests.metering.scraping import tenant

CALL = Call(Operation.PUT, b"/v1/put", Headers(()), b"0123456789", "127.0.0.1")
GRANT = Grant(Keyspace("tbl_a"), (), tenant(0))
REQUEST_BYTES, RESPONSE_BYTES = 5, 6
"""Places in a row, after the outcomes."""


@pytest.fixture
def usage(clock) -> Usage:
    return Usage(max_series=1000, idle_ms=1000, now_ms=clock.monotonic_ms)


def counted(usage: Usage) -> list[int]:
    """The counters of all puts."""
    (row,) = usage.rows()
    return row.counts[Operation.PUT]


def test_a_reading_gives_the_granted_keyspace_and_no_other(usage):
    assert Meter(usage).open(GRANT, CALL).keyspace == "tbl_a"


@pytest.mark.parametrize("outcome", UsageOutcome)
def test_a_closed_reading_counts_the_answer_once(usage, outcome):
    with Meter(usage).open(GRANT, CALL) as reading:
        reading.close(Answer(200, b"four", outcome))
    expected = [0] * 7
    expected[outcome], expected[REQUEST_BYTES], expected[RESPONSE_BYTES] = 1, 10, 4
    assert counted(usage) == expected


@pytest.mark.parametrize("fault", [RuntimeError, asyncio.CancelledError, KeyboardInterrupt])
def test_a_reading_that_is_left_open_counts_an_error(usage, fault):
    with pytest.raises(fault), Meter(usage).open(GRANT, CALL):
        raise fault
    assert counted(usage) == [0, 0, 0, 0, 1, 10, 0]


def test_a_fault_after_the_close_does_not_count_twice(usage):
    with pytest.raises(RuntimeError), Meter(usage).open(GRANT, CALL) as reading:
        reading.close(Answer(200, b""))
        raise RuntimeError
    assert sum(counted(usage)[:5]) == 1


def test_a_reading_whose_row_was_dropped_meanwhile_counts_all_the_same(usage, clock):
    usage.stand(GRANT.labels)
    with Meter(usage).open(GRANT, CALL) as reading:
        clock.advance(10_000)
        usage.drop_idle()
        reading.close(Answer(200, b""))
    assert counted(usage)[UsageOutcome.OK] == 1
