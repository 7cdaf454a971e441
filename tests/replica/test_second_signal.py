"""A second signal ends a replica at once, whatever the first one has it wait for."""

import signal
import time

import pytest

from tests.support.raw_client import Connection, has_call_in_flight, is_listening, request
from tests.support.servers import wait_for
from tests.support.wire import head

PATIENT = {"drain_seconds": 60, "grace_seconds": 60}
AWAITS_SCRAPE = {"drain_seconds": 0, "grace_seconds": 60}
AWAITS_CALLS = {"drain_seconds": 0, "grace_seconds": 60}
CLOSES = {"drain_seconds": 0, "grace_seconds": 0}


def says(gateway, words: str) -> bool:
    return words in gateway.log.read_text()


def assert_ends_at_once(gateway, number: signal.Signals) -> None:
    gateway.signal(number)
    assert gateway.seconds_until_end() < 1.0
    assert gateway.wait() == 128 + number


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_while_traffic_moves_away(start, second):
    gateway = start(shutdown=PATIENT)
    gateway.signal(signal.SIGTERM)
    wait_for(lambda: says(gateway, "draining"), "a drain")
    assert is_listening(gateway.urls["data"])
    assert_ends_at_once(gateway, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)],
)
def test_while_a_call_is_in_flight(start, first, second):
    gateway = start(shutdown=AWAITS_CALLS)
    top, _ = request()
    with Connection(gateway.urls["data"]) as client, Connection(gateway.urls["ops"]) as ops:
        client.send(top)
        wait_for(lambda: has_call_in_flight(ops), "a call in flight")
        gateway.signal(first)
        wait_for(lambda: not is_listening(gateway.urls["data"]), "the listener to close")
        assert_ends_at_once(gateway, second)


def test_while_the_last_scrape_is_waited_for(start):
    gateway = start(shutdown=AWAITS_SCRAPE)
    gateway.signal(signal.SIGTERM)
    wait_for(lambda: says(gateway, "waiting for a last scrape"), "a wait for the scrape")
    assert_ends_at_once(gateway, signal.SIGTERM)


def test_while_connections_are_closed_at_the_very_end(start):
    """A change whose body does not come is let finish for a second."""
    gateway = start(shutdown=CLOSES)
    with Connection(gateway.urls["control"]) as control:
        token = ("Authorization", "Bearer test-control-token")
        control.send(
            head("/v1/orgs/acme/apps/a", [("Host", "localhost"), token, ("Content-Length", 9)], method="PUT")
        )
        time.sleep(0.2)
        gateway.signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(gateway.urls["control"]), "the listener to close")
        assert gateway.process.poll() is None
        assert_ends_at_once(gateway, signal.SIGTERM)


def test_both_at_the_same_moment(start):
    gateway = start(shutdown=PATIENT)
    gateway.signal(signal.SIGSTOP)
    gateway.signal(signal.SIGTERM)
    gateway.signal(signal.SIGINT)
    gateway.signal(signal.SIGCONT)
    assert gateway.wait() in (128 + signal.SIGTERM, 128 + signal.SIGINT)
