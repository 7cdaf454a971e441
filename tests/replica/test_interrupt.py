"""SIGINT, a terminal's Ctrl-C, finishes calls in flight and does not wait for traffic."""

import signal
from contextlib import contextmanager

import pytest

from tests.support.raw_client import Connection, has_call_in_flight, is_listening, request
from tests.support.servers import wait_for

BY_A_SCRIPT = ("sh", "-c", 'trap "" INT QUIT && exec "$@"', "sh")
"""As a shell without job control starts what stands before `&` (POSIX, 2.12)."""

PATIENT = {"drain_seconds": 60, "grace_seconds": 60}


@contextmanager
def half_a_call(gateway):
    """A client whose call is in flight; what it sends to complete it."""
    head, body = request("put", value=1)
    with Connection(gateway.urls["data"]) as client, Connection(gateway.urls["ops"]) as ops:
        client.send(head + body[:5])
        wait_for(lambda: has_call_in_flight(ops), "a call in flight")
        yield client, body[5:]


def interrupt(gateway) -> None:
    """Returns when the signal has had an effect."""
    gateway.signal(signal.SIGINT)
    wait_for(lambda: not is_listening(gateway.urls["data"]), "the listener to close")


def test_an_interrupt_ends_an_idle_replica_immediately(start):
    gateway = start(shutdown=PATIENT)
    gateway.signal(signal.SIGINT)
    assert gateway.seconds_until_end() < 1.5
    assert gateway.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_replica_that_a_script_started_in_the_background_ends_by_a_signal_all_the_same(start, number):
    gateway = start(launcher=BY_A_SCRIPT)
    gateway.signal(number)
    assert gateway.wait() == 0


def test_an_interrupt_does_not_wait_for_kept_connections(start):
    gateway = start(shutdown=PATIENT)
    with Connection(gateway.urls["data"]) as data, Connection(gateway.urls["ops"]) as ops:
        data.call()
        ops.ask("/livez")
        gateway.signal(signal.SIGINT)
        assert gateway.seconds_until_end() < 1.0
        assert gateway.wait() == 0


def test_an_interrupt_lets_a_call_in_flight_finish(start):
    gateway = start(shutdown=PATIENT)
    with half_a_call(gateway) as (client, rest):
        interrupt(gateway)
        client.send(rest)
        status, fields, answer = client.response()
        assert (status, answer, fields["connection"]) == (200, {"ok": True}, "close")
    assert gateway.wait() == 0


def test_an_interrupt_stops_taking_connections_while_a_call_finishes(start):
    gateway = start(shutdown=PATIENT)
    with half_a_call(gateway) as (client, rest):
        interrupt(gateway)
        assert not is_listening(gateway.urls["data"])
        client.send(rest)
        assert client.response()[0] == 200


def test_a_second_interrupt_ends_the_process_immediately(start):
    gateway = start(shutdown=PATIENT)
    with half_a_call(gateway):
        interrupt(gateway)
        assert gateway.process.poll() is None
        gateway.signal(signal.SIGINT)
        assert gateway.seconds_until_end() < 2.0
        assert gateway.wait() == 128 + signal.SIGINT
