"""The data listener over TLS, with a deadline for the handshake."""

import asyncio
import os
import socket
import ssl

import pytest
import trustme

from gateway.http.handshake import is_whole_hello
from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import until


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
async def tls_gateway(authority, tmp_path):
    async with run_gateway(with_tls(authority, tmp_path)) as gateway:
        yield gateway


def with_tls(authority, tmp_path, **edge):
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    tls = {"certificate": str(tmp_path / "server.pem"), "key": str(tmp_path / "server.pem")}
    return {"listen": {listener: {"tls": tls} for listener in ("data", "control")}, "edge": edge}


def _address(gateway, listener="data"):
    scheme, _, address = gateway.replica.urls[listener].partition("://")
    assert scheme == "https"
    host, port = address.split(":")
    return host, int(port)


async def test_a_request_over_tls_is_answered(tls_gateway, authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    reader, writer = await asyncio.open_connection(*_address(tls_gateway), ssl=context)
    writer.write(b"POST /v1/get HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    assert b'{"error":"missing_signature"' in await reader.read()
    writer.close()


async def test_an_unknown_authority_is_not_trusted(tls_gateway):
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection(*_address(tls_gateway), ssl=ssl.create_default_context())


async def test_a_client_that_never_shakes_hands_is_cut_off(authority, tmp_path):
    async with run_gateway(with_tls(authority, tmp_path, head_seconds=0.3)) as gateway:
        reader, writer = await asyncio.open_connection(*_address(gateway))
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await reader.read() == b""
        writer.close()


async def test_a_broken_tls_record_inside_a_body_is_not_logged_as_a_fault(tls_gateway, authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)

    def begin() -> ssl.SSLSocket:
        plain = socket.create_connection(_address(tls_gateway))
        wrapped = context.wrap_socket(plain, server_hostname="127.0.0.1")
        wrapped.sendall(b"POST /v1/put HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf")
        return wrapped

    calls = tls_gateway.app.drain.calls
    with await asyncio.to_thread(begin) as wrapped:
        await until(lambda: calls)
        os.write(wrapped.fileno(), b"\x17\x03\x03\x00\x20" + b"z" * 32)
        await until(lambda: not calls)
    refusals = tls_gateway.app.data.handler._metrics._refusals
    assert (refusals["bad_request"], refusals["internal_error"]) == (1, 0)


async def test_clients_that_never_shake_hands_are_evicted_for_those_that_do(authority, tmp_path):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    edge = {"max_connections": 3, "head_seconds": 60}
    async with run_gateway(with_tls(authority, tmp_path, **edge)) as gateway:
        silent = [await asyncio.open_connection(*_address(gateway)) for _ in range(10)]
        async with asyncio.timeout(PATIENCE_SECONDS):
            for reader, _ in silent[:7]:
                assert not await _reads(reader)
            reader, writer = await asyncio.open_connection(*_address(gateway), ssl=context)
            assert not await _reads(silent[7][0])
            writer.write(b"POST /v1/get HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
            assert (await reader.read(12)) == b"HTTP/1.1 403"
        assert (await gateway.metrics())["kvs_connections_displaced_total"] == 8
        for _, each in [*silent, (reader, writer)]:
            each.close()


async def _reads(reader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def test_nothing_is_kept_of_handshakes_that_fail(authority, tmp_path):
    async with run_gateway(with_tls(authority, tmp_path, max_connections=3)) as gateway:
        for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello"):
            for _ in range(5):
                _, writer = await asyncio.open_connection(*_address(gateway))
                writer.write(sent)
                writer.close()
        limiter = gateway.app.data.service.limiter
        await until(lambda: not limiter.connections)
        assert [limiter.new, limiter.receiving, limiter.unread, limiter.kept] == [{}, {}, {}, {}]


def _hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="h")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_a_hello_is_whole_with_its_last_byte_however_it_is_cut_into_records():
    hello = _hello()
    payload = hello[5:]
    cut = b"".join(hello[:3] + len(part).to_bytes(2) + part for part in (payload[:3], b"", payload[3:]))
    for whole in (hello, cut):
        assert [is_whole_hello(whole[:end]) for end in range(len(whole))] == [False] * len(whole)
        assert is_whole_hello(whole)


def test_bytes_that_are_no_hello_are_not_waited_for():
    assert is_whole_hello(b"G")
    assert is_whole_hello(_hello()[:50] + b"\x16\x03\x01\xff\xff" + b"x" * 20_000)


async def test_handshakes_of_the_control_listener_wait_for_their_turns(tls_gateway, authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    tls_gateway.app.turns.is_free = False
    waiting = asyncio.create_task(asyncio.open_connection(*_address(tls_gateway, "control"), ssl=context))
    await until(lambda: tls_gateway.app.turns.handshakes.has_waiting)
    _, writer = await asyncio.open_connection(*_address(tls_gateway), ssl=context)
    writer.close()
    assert not waiting.done()
    tls_gateway.app.turns.pass_on()
    reader, writer = await waiting
    writer.write(b"GET /v1/orgs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b'{"error":"missing_token"' in await reader.read()
    writer.close()


async def test_a_client_of_the_control_listener_that_never_shakes_hands_is_cut_off(authority, tmp_path):
    async with run_gateway(with_tls(authority, tmp_path, head_seconds=0.3)) as gateway:
        reader, writer = await asyncio.open_connection(*_address(gateway, "control"))
        writer.write(_hello()[:20])
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await reader.read() == b""
        writer.close()
        await until(lambda: not gateway.app.control.service.limiter.connections)
