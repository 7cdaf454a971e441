"""TLS: certificates of known authorities are trusted; nothing is sent to other servers."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import trustme
from botocore.credentials import Credentials
from kvs_client import Client, Configuration, DeadlineExceeded, Options, Unavailable
from kvs_client.aio import AsyncClient

ANSWER = b'{"found":false,"expiresAt":null}'
SHORT = Options(deadline_seconds=1)


class Missing(BaseHTTPRequestHandler):
    """Answers that there is no entry."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    requests = 0
    daemon_threads = True

    def handle_error(self, *_):
        """Ignores handshakes that a client without trust ended."""


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def server(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with Server(("127.0.0.1", 0), Missing) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def made(kind, server, options=None):
    configuration = Configuration(f"https://localhost:{server.server_port}", "eu-central-1", "token")
    return kind(configuration, options, find_credentials=lambda: Credentials("AKID", "secret"))


def test_known_authority_is_trusted_and_the_connection_is_reused(server, authority, tmp_path, monkeypatch):
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with made(Client, server) as client:
        assert client.get("k") is client.get("k") is None
    assert server.requests == 2


def test_server_of_an_unknown_authority_gets_no_request(server):
    with made(Client, server, SHORT) as client, pytest.raises((Unavailable, DeadlineExceeded)):
        client.get("k")
    assert server.requests == 0


async def test_server_of_an_unknown_authority_gets_no_request_from_a_task(server):
    async with made(AsyncClient, server, SHORT) as client:
        with pytest.raises((Unavailable, DeadlineExceeded)):
            await client.get("k")
    assert server.requests == 0
