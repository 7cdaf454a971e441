"""SIGTERM ends a replica without failing a request. Each test runs a real process."""

import signal
import socket
import time

import pytest

from tests.support.process import GatewayProcess
from tests.support.raw_client import Connection, is_listening, request
from tests.support.stopwatch import PATIENCE_SECONDS

SCRAPE = b"GET /metrics/usage HTTP/1.1\r\nHost: localhost\r\n\r\n"
GRACE_SECONDS = 300
"""Longer than any test, so no replica ends because its grace is over."""


def _until(condition, seconds: float = PATIENCE_SECONDS) -> bool:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        if condition():
            return True
        time.sleep(0.01)
    return False


def _is_draining(gateway: GatewayProcess) -> bool:
    with Connection(gateway.urls["ops"]) as ops:
        status, _, body = ops.ask("/readyz")
        return (status, body["status"]) == (503, "draining")


def _scrape(gateway: GatewayProcess, path: str = "/metrics/usage") -> str:
    with Connection(gateway.urls["ops"]) as ops:
        return ops.ask(path)[2].decode()


def _begin_to_drain(start, drain_seconds: float) -> GatewayProcess:
    gateway = start(shutdown={"drain_seconds": drain_seconds, "grace_seconds": GRACE_SECONDS})
    assert _until(lambda: not _is_draining(gateway))
    gateway.signal(signal.SIGTERM)
    assert _until(lambda: _is_draining(gateway))
    return gateway


def _assert_both_are_waited_for(gateway: GatewayProcess, often: Connection, seldom: Connection) -> None:
    """Two servers at one address, of which one comes four times before the other comes once."""
    assert _until(lambda: not is_listening(gateway.urls["data"]))
    # For a moment after that calls may still come: a scrape then keeps its connection and does not count.
    assert _until(lambda: "connection" in often.ask("/metrics/usage")[1])
    for _ in range(3):
        _scrape(gateway)
    time.sleep(0.3)
    assert gateway.process.poll() is None
    seldom.ask("/metrics/usage")
    assert gateway.wait() == 0


@pytest.fixture
def draining(start):
    """A gateway that drains, and soon closes its listener."""
    return _begin_to_drain(start, 0.3)


@pytest.fixture(scope="module")
def waiting(start_shared):
    """A gateway that waits for its last scrape. Tests that do not end it share it; then a scrape ends it."""
    gateway = _begin_to_drain(start_shared, 0.3)
    assert _until(lambda: not is_listening(gateway.urls["data"]))
    yield gateway
    _scrape(gateway)
    assert gateway.wait() == 0


@pytest.fixture
def open_yet(start):
    """A gateway that drains, with an open listener for long enough to be called."""
    return _begin_to_drain(start, 3)


def test_a_draining_replica_is_not_ready_and_alive(waiting):
    with Connection(waiting.urls["ops"]) as ops:
        assert ops.ask("/readyz")[0] == 503
        assert ops.ask("/livez")[0] == 200


def test_a_draining_replica_still_takes_connections_and_asks_them_to_close(open_yet):
    with Connection(open_yet.urls["data"]) as client:
        status, fields, body = client.call("put", value=1)
        assert (status, body, fields["connection"]) == (200, {"ok": True}, "close")
        assert client.is_closed_by_peer()


def test_after_the_drain_the_listener_is_closed_while_metrics_remain(waiting):
    assert is_listening(waiting.urls["ops"])
    assert is_listening(waiting.urls["control"])


def test_the_replica_ends_with_0_after_it_was_scraped_once_more(draining):
    assert _until(lambda: not is_listening(draining.urls["data"]))
    assert draining.process.poll() is None
    assert "kvs_usage_requests_total" in _scrape(draining)
    assert draining.wait() == 0


@pytest.mark.parametrize("path", ["/metrics", "/metrics/usage"])
def test_either_path_with_the_tenant_series_counts_as_the_last_scrape(draining, path):
    _until(lambda: not is_listening(draining.urls["data"]))
    _scrape(draining, path)
    assert draining.wait() == 0


def test_a_scrape_without_the_tenant_series_is_not_the_last_one(waiting):
    _scrape(waiting, "/metrics/service")
    time.sleep(0.3)
    assert waiting.process.poll() is None


def test_a_head_request_for_the_tenant_series_is_not_a_scrape(waiting):
    with Connection(waiting.urls["ops"]) as ops:
        ops.send(b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert not ops.is_closed_by_peer(), "answered"
    time.sleep(0.3)
    assert waiting.process.poll() is None


def test_a_scrape_that_nobody_read_to_its_end_is_not_the_last_one(waiting):
    """Prometheus discards a scrape that it did not read in time."""
    with Connection(waiting.urls["ops"]) as ops:
        ops.send(SCRAPE)
        assert ops.has_answer()
    time.sleep(0.3)
    assert waiting.process.poll() is None


def test_a_scrape_whose_reader_was_gone_before_it_was_answered_is_not_the_last_one(waiting):
    waiting.signal(signal.SIGSTOP)
    with Connection(waiting.urls["ops"]) as ops:
        ops.send(SCRAPE)
    waiting.signal(signal.SIGCONT)
    time.sleep(0.3)
    assert waiting.process.poll() is None


def test_a_scrape_counts_when_a_slow_reader_has_read_it_and_not_before(draining):
    _until(lambda: not is_listening(draining.urls["data"]))
    with Connection(draining.urls["ops"], buffer_bytes=1) as ops:
        ops.send(SCRAPE.replace(b"/usage", b""))
        assert ops.has_answer()
        time.sleep(1.5)
        assert draining.process.poll() is None
        assert b"kvs_usage_requests_total" in ops.response()[2]
        assert draining.wait() == 0


def test_a_scrape_of_a_client_that_half_closes_counts_when_it_was_read(draining):
    _until(lambda: not is_listening(draining.urls["data"]))
    with Connection(draining.urls["ops"], buffer_bytes=1) as ops:
        ops.send(SCRAPE.replace(b"/usage", b""))
        ops._socket.shutdown(socket.SHUT_WR)
        assert ops.has_answer()
        time.sleep(0.5)
        assert draining.process.poll() is None
        assert b"kvs_usage_requests_total" in ops.response()[2]
        assert draining.wait() == 0


def test_a_scrape_counts_though_its_reader_keeps_the_connection(draining):
    _until(lambda: not is_listening(draining.urls["data"]))
    with Connection(draining.urls["ops"]) as ops:
        assert ops.ask("/metrics/usage")[1]["connection"] == "close"
        assert draining.wait() == 0


def test_the_drain_waits_for_every_server_that_has_scraped(start):
    gateway = start(shutdown={"drain_seconds": 0.3, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["ops"]) as one, Connection(gateway.urls["ops"]) as other:
        for server in (one, other, one):
            server.ask("/metrics/usage")
        gateway.signal(signal.SIGTERM)
        assert _until(lambda: not is_listening(gateway.urls["data"]))
        one.ask("/metrics/usage")
        time.sleep(0.3)
        assert gateway.process.poll() is None
        other.ask("/metrics/usage")
        assert gateway.wait() == 0


def test_a_frequent_scraper_does_not_count_for_another_at_its_address(start):
    gateway = start(shutdown={"drain_seconds": 0.3, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["ops"]) as often, Connection(gateway.urls["ops"]) as seldom:
        for server in (often, seldom):
            server.ask("/metrics/usage")
        gateway.signal(signal.SIGTERM)
        _assert_both_are_waited_for(gateway, often, seldom)


def test_a_scrape_while_calls_still_come_keeps_its_connection(start):
    gateway = start(shutdown={"drain_seconds": 2, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["ops"]) as often, Connection(gateway.urls["ops"]) as seldom:
        for server in (often, seldom):
            server.ask("/metrics/usage")
        gateway.signal(signal.SIGTERM)
        assert _until(lambda: _is_draining(gateway))
        with Connection(gateway.urls["data"]) as client:
            client.call()
        for server in (often, seldom):
            assert "connection" not in server.ask("/metrics/usage")[1]
        _assert_both_are_waited_for(gateway, often, seldom)


def test_a_scrape_on_a_new_connection_counts_for_the_server_whose_connection_has_ended(start):
    gateway = start(shutdown={"drain_seconds": 0.3, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["ops"]) as stays:
        with Connection(gateway.urls["ops"]) as leaves:
            for server in (stays, leaves):
                server.ask("/metrics/usage")
            gateway.signal(signal.SIGTERM)
            assert _until(lambda: not is_listening(gateway.urls["data"]))
        _scrape(gateway)
        stays.ask("/metrics/usage")
        assert gateway.wait() == 0


def test_the_drain_does_not_wait_for_a_server_that_is_gone(start):
    gateway = start(shutdown={"drain_seconds": 0.3, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["ops"]) as stays:
        stays.ask("/metrics/usage")
        _scrape(gateway)
        for _ in range(5):  # turns of the loop, in which the end of the other connection is noticed
            stays.ask("/livez")
        gateway.signal(signal.SIGTERM)
        assert _until(lambda: not is_listening(gateway.urls["data"]))
        stays.ask("/metrics/usage")
        assert gateway.wait() == 0


def test_a_scrape_before_the_last_answer_is_not_the_last_one(open_yet):
    _scrape(open_yet)
    with Connection(open_yet.urls["data"]) as client:
        client.call()
    _until(lambda: not is_listening(open_yet.urls["data"]))
    time.sleep(0.2)
    assert open_yet.process.poll() is None


def test_a_scrape_after_the_last_answer_counts_while_connections_are_still_taken(open_yet):
    with Connection(open_yet.urls["data"]) as client:
        client.call()
    _scrape(open_yet)
    assert open_yet.wait() == 0


def test_without_a_scrape_the_replica_ends_when_the_grace_is_over(start):
    gateway = start(shutdown={"drain_seconds": 0.1, "grace_seconds": 0.6})
    began = time.monotonic()
    gateway.signal(signal.SIGTERM)
    assert gateway.seconds_until_end() < 2.0
    assert time.monotonic() - began > 0.5
    assert gateway.wait() == 0


@pytest.mark.parametrize("is_begun", ["head", "body"])
def test_a_request_that_has_begun_finishes_after_the_listener_is_closed(start, is_begun):
    gateway = start(shutdown={"drain_seconds": 0.1, "grace_seconds": GRACE_SECONDS})
    head, body = request("put", value=1)
    call, sent = head + body, 20 if is_begun == "head" else len(head) + 5
    with Connection(gateway.urls["data"]) as client:
        client.send(call[:sent])
        time.sleep(0.05)
        gateway.signal(signal.SIGTERM)
        assert _until(lambda: not is_listening(gateway.urls["data"]))
        client.send(call[sent:])
        status, fields, answer = client.response()
        assert (status, answer, fields["connection"]) == (200, {"ok": True}, "close")
        _scrape(gateway)
    assert gateway.wait() == 0


def test_a_late_call_restarts_the_wait_for_a_last_scrape(start):
    gateway = start(shutdown={"drain_seconds": 0.1, "grace_seconds": GRACE_SECONDS})
    head, body = request("put", value=1)
    with Connection(gateway.urls["data"]) as client:
        client.send(head[:20])
        time.sleep(0.05)
        gateway.signal(signal.SIGTERM)
        assert _until(lambda: "waiting for a last scrape" in gateway.log.read_text())
        client.send(head[20:] + body)
        assert client.response()[0] == 200
    assert 'operation="put",outcome="ok"} 1\n' in _scrape(gateway)
    assert gateway.wait() == 0


def test_an_idle_connection_is_closed_after_the_drain(start):
    gateway = start(shutdown={"drain_seconds": 0.1, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["data"]) as client:
        client.call()
        gateway.signal(signal.SIGTERM)
        assert client.is_closed_by_peer()


def test_usage_counted_at_the_end_equals_the_answers(start):
    gateway = start(shutdown={"drain_seconds": 3, "grace_seconds": GRACE_SECONDS})
    with Connection(gateway.urls["data"]) as client:
        answered = sum(client.call()[0] == 200 for _ in range(25))
    gateway.signal(signal.SIGTERM)
    with Connection(gateway.urls["data"]) as client:
        answered += client.call()[0] == 200
    _until(lambda: not is_listening(gateway.urls["data"]))
    lines = [line for line in _scrape(gateway).splitlines() if line.startswith("kvs_usage_requests_total{")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in lines) == answered == 26
    assert gateway.wait() == 0


def test_a_second_sigterm_ends_the_process_immediately(start):
    gateway = start(shutdown={"drain_seconds": 60, "grace_seconds": 60})
    gateway.signal(signal.SIGTERM)
    assert _until(lambda: _is_draining(gateway))
    gateway.signal(signal.SIGTERM)
    assert gateway.seconds_until_end() < 1.0
    assert gateway.wait() == 128 + signal.SIGTERM


def test_a_drain_logs_only_its_begin_and_end(draining):
    _until(lambda: not is_listening(draining.urls["data"]))
    _scrape(draining)
    draining.wait()
    log = draining.log.read_text()
    assert "draining" in log
    assert "Traceback" not in log
    assert "fault" not in log
