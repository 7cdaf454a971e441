"""Clients that misbehave do not keep a draining replica, nor fail those that behave."""

import asyncio
import ssl
import time

import pytest
import trustme

from tests.support.raw_client import Connection, is_listening, request
from tests.support.servers import wait_for
from tests.support.wire import until

SOON = {"drain_seconds": 0.2, "grace_seconds": 1.5}
ABUSES = {
    "garbage": b"\x00\xff" * 1_000,
    "the hello of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
    "two lengths": b"POST /v1/get HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "a chunk without size": b"POST /v1/get HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a head without end": b"POST /v1/get HTTP/1.1\r\n" + b"X: y\r\n" * 500,
    "two versions": b"GET / HTTP/9.9\r\n\r\nGET / HTTP/1.1\r\n\r\n",
}
STALLS = {
    "silence": b"",
    "half a head": b"POST /v1/get HT",
    "half a body": b"POST /v1/put HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
    "half a chunk": b"POST /v1/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nxx",
}


@pytest.mark.parametrize("data", ABUSES.values(), ids=ABUSES)
def test_malformed_http_is_refused_while_draining(start, data):
    gateway = start(shutdown={"drain_seconds": 5, "grace_seconds": 5})
    gateway.signal()
    wait_for(lambda: "draining" in gateway.log.read_text(), "a drain")
    with Connection(gateway.urls["data"]) as abuser, Connection(gateway.urls["data"]) as client:
        abuser.send(data)
        status, fields, body = abuser.response()
        assert (status, fields["connection"], body) == (400, "close", {"error": "bad_request"})
        assert abuser.is_closed_by_peer()
        assert client.call("put", value=1)[0] == 200
    assert "Traceback" not in gateway.log.read_text()


@pytest.mark.parametrize("data", STALLS.values(), ids=STALLS)
def test_a_stalling_client_does_not_delay_the_end_beyond_the_grace_period(start, data):
    gateway = start(shutdown=SOON)
    with Connection(gateway.urls["data"]) as staller:
        staller.send(data)
        time.sleep(0.1)
        gateway.signal()
        assert gateway.seconds_until_end() < SOON["grace_seconds"] + 3
        assert gateway.wait() == 0
    assert "Traceback" not in gateway.log.read_text()


def test_a_client_that_does_not_read_does_not_delay_the_end_beyond_the_grace_period(start):
    gateway = start(shutdown=SOON)
    with Connection(gateway.urls["data"]) as client:
        client.call("put", value="x" * 60_000)
        head, body = request()
        client.send((head + body) * 200)
        gateway.signal()
        assert gateway.seconds_until_end() < SOON["grace_seconds"] + 3
        assert gateway.wait() == 0


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def context(authority) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_tls_handshake_that_was_begun_finishes_after_the_listener_is_closed(
    start, authority, context, tmp_path
):
    file = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    tls = {"certificate": str(file), "key": str(file)}
    gateway = start(shutdown={"drain_seconds": 0.1, "grace_seconds": 5}, listen={"data": {"tls": tls}})
    port = int(gateway.urls["data"].rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.sleep(0.1)
    gateway.signal()
    await until(lambda: not is_listening(gateway.urls["data"]))
    with Connection(gateway.urls["ops"]) as ops:
        ops.ask("/metrics")
    await writer.start_tls(context, server_hostname="127.0.0.1")
    writer.write(b"".join(request("put", value=1)))
    assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()
