"""Bytes that arrive on an idle connection answer no later call, whether or not the event loop has run."""

import socket
import threading

import pytest
from botocore.credentials import Credentials
from hostile import read_request
from kvs_client import AsyncClient, Client, Configuration, Options

ONCE = Options(deadline_seconds=60, attempt_seconds=60, backoff_base_seconds=1e9, backoff_cap_seconds=1e9)
PATIENCE_SECONDS = 120
FORGED = b'{"found":true,"value":"forged","expiresAt":null}'
ASKED = b'{"found":true,"value":"asked","expiresAt":null}'


def http(body, status=b"200 OK"):
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


UNASKED = {
    "answer": http(FORGED),
    "half an answer": http(FORGED)[:30],
    "timeout": http(b"", b"408 Request Timeout"),
    "informational": b"HTTP/1.1 100 Continue\r\n\r\n",
    "empty line": b"\r\n",
    "end": b"",
}


class IdleServer:
    """Answers each request, then sends bytes that nobody asked for, or the end if there are none."""

    def __init__(self, unasked):
        self.unasked, self.connections = unasked, 0
        self.may_send, self.has_sent = threading.Event(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._run)]

    @property
    def url(self):
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self):
        self._threads[0].start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in list(self._threads):
            each.join()
        self._listener.close()

    def _run(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection):
        with connection:
            try:
                while read_request(connection):
                    connection.sendall(http(ASKED))
                    self.may_send.wait(PATIENCE_SECONDS)
                    self._interrupt(connection)
                    self.has_sent.set()
            except OSError:
                return

    def _interrupt(self, connection):
        if self.unasked:
            connection.sendall(self.unasked)
        else:
            connection.shutdown(socket.SHUT_WR)

    def wait_until_sent(self):
        """Lets the server send, and waits without giving the event loop a turn."""
        self.may_send.set()
        assert self.has_sent.wait(PATIENCE_SECONDS)
        self.may_send.clear()
        self.has_sent.clear()


@pytest.fixture(params=UNASKED.values(), ids=UNASKED)
def server(request):
    with IdleServer(request.param) as server:
        yield server
        server.may_send.set()


def made(kind, server):
    return kind(
        Configuration(server.url, "eu-central-1", "token"),
        ONCE,
        find_credentials=lambda: Credentials("AKID", "secret"),
    )


async def test_event_loop_that_stood_still_hides_no_bytes(server):
    async with made(AsyncClient, server) as client:
        for count in range(1, 4):
            assert (await client.get("k")).value == "asked"
            assert server.connections == count
            server.wait_until_sent()


def test_synchronous_client_looks_first(server):
    with made(Client, server) as client:
        for count in range(1, 4):
            assert client.get("k").value == "asked"
            assert server.connections == count
            server.wait_until_sent()
