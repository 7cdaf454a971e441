"""SIGINT, a terminal's Ctrl-C, finishes calls in flight and does not wait for traffic."""

import signal
import time

from tests.support.raw_client import Connection, is_listening, request

PATIENT = {"drain_seconds": 60, "grace_seconds": 60}


def test_an_interrupt_ends_an_idle_replica_at_once(start):
    gateway = start(shutdown=PATIENT)
    began = time.monotonic()
    gateway.signal(signal.SIGINT)
    assert gateway.wait(3) == 0
    assert time.monotonic() - began < 1.5


def test_an_interrupt_does_not_wait_for_kept_connections(start):
    gateway = start(shutdown=PATIENT)
    with Connection(gateway.urls["data"]) as data, Connection(gateway.urls["ops"]) as ops:
        data.call()
        ops.ask("/livez")
        began = time.monotonic()
        gateway.signal(signal.SIGINT)
        assert gateway.wait(3) == 0
        assert time.monotonic() - began < 1.0


def test_an_interrupt_lets_a_call_in_flight_finish(start):
    gateway = start(shutdown=PATIENT)
    head, body = request("put", value=1)
    with Connection(gateway.urls["data"]) as client:
        client.send(head + body[:5])
        time.sleep(0.1)
        gateway.signal(signal.SIGINT)
        time.sleep(0.1)
        client.send(body[5:])
        status, fields, answer = client.response()
        assert (status, answer, fields["connection"]) == (200, {"ok": True}, "close")
    assert gateway.wait(3) == 0


def test_an_interrupt_stops_taking_connections_while_a_call_finishes(start):
    gateway = start(shutdown=PATIENT)
    head, body = request("put", value=1)
    with Connection(gateway.urls["data"]) as client:
        client.send(head + body[:5])
        time.sleep(0.1)
        gateway.signal(signal.SIGINT)
        time.sleep(0.2)
        assert not is_listening(gateway.urls["data"])
        client.send(body[5:])
        assert client.response()[0] == 200


def test_a_second_interrupt_ends_at_once(start):
    gateway = start(shutdown=PATIENT)
    head, body = request("put", value=1)
    with Connection(gateway.urls["data"]) as client:
        client.send(head + body[:5])
        time.sleep(0.1)
        gateway.signal(signal.SIGINT)
        time.sleep(0.1)
        assert gateway.process.poll() is None
        gateway.signal(signal.SIGINT)
        assert gateway.wait(2) == 128 + signal.SIGINT
