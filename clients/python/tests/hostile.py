"""A server of one thread that sends any bytes as its answer."""

import socket
import threading
from contextlib import suppress


class HostileServer:
    """Answers one request of each connection with `answer`, and then ends it. Use as a context manager.

    `again` is sent without end after it, until the client leaves.
    """

    def __init__(self):
        self.answer, self.again = b"", b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _run(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                if read_request(connection):
                    self._send(connection)

    def _send(self, connection):
        connection.sendall(self.answer)
        while self.again:
            connection.sendall(self.again)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def read_request(connection):
    """Reads one whole request; returns False at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return False
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return True
