"""HTTPS proxy that maps host names in a cluster to local ports."""

import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer


class _Tunnel(StreamRequestHandler):
    """Serves one `CONNECT host:port`."""

    server: "_Proxy"

    def handle(self) -> None:
        target = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip():
            pass
        with socket.create_connection(("127.0.0.1", self.server.ports[target])) as inner:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            _pass_on(self.connection, inner)


class _Proxy(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, ports: Mapping[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.ports = ports


@contextmanager
def tunnel(ports: Mapping[str, int]) -> Iterator[str]:
    """Runs the proxy and yields its URL; `ports` are local ports by `host:port`."""
    with _Proxy(ports) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Copies bytes both ways until one side ends."""
    while True:
        for ready in select.select([one, other], [], [])[0]:
            received = ready.recv(65536)
            if not received:
                return
            (other if ready is one else one).sendall(received)
