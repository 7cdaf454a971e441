"""Design, section 2: no request fails while a replica is replaced by another on the same port."""

import signal
import threading
import time

from tests.lifecycle.raw import Connection

CLIENTS = 20


class _Client(threading.Thread):
    """Calls without a pause on kept connections, as an ordinary HTTP client does; never repeats a call."""

    def __init__(self, url: str, stop: threading.Event) -> None:
        super().__init__()
        self._url, self._stop_calling = url, stop
        self.answered, self.closed, self.failures = 0, 0, []

    def run(self) -> None:
        while not self._stop_calling.is_set():
            try:
                self._call_until_closed()
            except OSError as error:
                self.failures.append(repr(error))

    def _call_until_closed(self) -> None:
        with Connection(self._url) as connection:
            while not self._stop_calling.is_set():
                status, fields, _ = connection.call("put", value=1)
                if status != 200:
                    self.failures.append(status)
                self.answered += 1
                if fields.get("connection") == "close":
                    self.closed += 1
                    return


def test_twenty_busy_clients_see_no_failure_while_a_replica_is_replaced(start):
    shared = {"reuse_port": True}
    shutdown = {"drain_seconds": 0.5, "grace_seconds": 1.0}
    old = start(listen={"data": shared}, shutdown=shutdown)
    port = int(old.urls["data"].rsplit(":", 1)[1])
    stop = threading.Event()
    clients = [_Client(old.urls["data"], stop) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    new = start(listen={"data": {**shared, "port": port}}, shutdown=shutdown)
    time.sleep(0.2)
    old.signal(signal.SIGTERM)
    ended = old.wait(5)
    time.sleep(0.2)
    stop.set()
    for client in clients:
        client.join()
    assert [client.failures for client in clients] == [[]] * CLIENTS
    assert ended == 0
    assert all(client.answered for client in clients)
    assert sum(client.closed for client in clients) >= 1
    assert new.process.poll() is None
