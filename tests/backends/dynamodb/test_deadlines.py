"""500 ms an attempt and 2 s in all, whatever the other side does or leaves undone."""

import asyncio
import socket
import threading
from contextlib import asynccontextmanager, suppress

import pytest

from backends.dynamodb import client
from backends.dynamodb.transport import AiohttpTransport, NotReached
from backends.errors import BackendUnavailable
from tests.backends.dynamodb.scripted import READS, WRITES, prepared_endpoint, store_on, unprepared_store
from tests.support.clock import FakeClock
from tests.support.dynamodb.answers import SILENCE, answer, refusal
from tests.support.link import HOST
from tests.support.stopwatch import PATIENCE_SECONDS

pytestmark = pytest.mark.virtual_time

SLACK_SECONDS = 0.25
GET, PUT, CHARGE = READS["get"][1], WRITES["put"][1], WRITES["charge"][1]


def now() -> float:
    return asyncio.get_running_loop().time()


async def seconds_until_unavailable(call) -> float:
    started = now()
    with pytest.raises(BackendUnavailable):
        await call
    return now() - started


async def assert_in_time(store) -> None:
    """A quarter of the usual deadlines, which other tests hold to, are set."""
    reading, writing, charging = await asyncio.gather(
        *(seconds_until_unavailable(call(store)) for call in (GET, PUT, CHARGE))
    )
    assert 0.12 < writing < 0.125 + SLACK_SECONDS
    assert 0.12 < charging < 0.125 + SLACK_SECONDS
    assert 0.12 < reading < 0.5 + SLACK_SECONDS


@pytest.fixture
def impatient(environment):
    environment.setattr(client, "ATTEMPT_SECONDS", 0.125)
    environment.setattr(client, "CALL_SECONDS", 0.5)
    return environment


@pytest.fixture
async def endpoint(environment):
    async with prepared_endpoint() as endpoint:
        yield endpoint


@asynccontextmanager
async def dripping():
    """Each connection is sent an answer, byte by byte."""

    drips = set()

    async def drip(_, writer) -> None:
        drips.add(asyncio.current_task())
        with suppress(ConnectionError, asyncio.CancelledError):
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"{" * 2000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.transport.abort()

    async with await asyncio.start_server(drip, HOST, 0) as server:
        yield server.sockets[0].getsockname()[1]
        for each in drips:
            each.cancel()
        await asyncio.wait(drips)


@asynccontextmanager
async def taking_no_more_connections():
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for each in waiting:
            each.close()


@asynccontextmanager
async def silent():
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("peer", [silent, dripping, taking_no_more_connections])
async def test_a_peer_that_answers_too_slowly_or_never_holds_calls_up_for_no_longer(impatient, peer):
    async with peer() as port, unprepared_store(f"http://{HOST}:{port}", FakeClock()) as store:
        await asyncio.sleep(0.3)  # looking after the table has begun, which takes the loop's time
        await assert_in_time(store)


@pytest.fixture
def hanging_thread(monkeypatch):
    """One that looks for the address of `dynamodb.test`."""
    resolve, over = socket.getaddrinfo, threading.Event()

    def hang(host, *rest, **options):
        if host == "dynamodb.test":
            over.wait(PATIENCE_SECONDS)
        return resolve(HOST, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    yield over
    over.set()


async def test_a_name_that_is_not_resolved_holds_calls_up_for_no_longer(impatient, hanging_thread):
    try:
        async with unprepared_store("http://dynamodb.test:1", FakeClock()) as store:
            await asyncio.sleep(0.3)
            await assert_in_time(store)
    finally:
        hanging_thread.set()


async def test_a_read_is_tried_again_until_two_seconds_are_over(endpoint, monkeypatch):
    monkeypatch.setattr(client.random, "uniform", lambda _, high: high / 4)
    async with store_on(endpoint) as store:
        endpoint.always("GetItem", SILENCE)
        assert 1.9 < await seconds_until_unavailable(GET(store)) < 2.0 + SLACK_SECONDS
        assert len(endpoint.of("GetItem")) == 4


async def test_pauses_end_before_two_seconds_are_over(endpoint, monkeypatch):
    monkeypatch.setattr(client.random, "uniform", lambda _, high: high)
    async with store_on(endpoint) as store:
        endpoint.always("PutItem", refusal("ThrottlingException"))
        assert await seconds_until_unavailable(PUT(store)) < 2.0
        assert len(endpoint.of("PutItem")) == 6


async def test_a_slow_call_does_not_hold_up_others(impatient, endpoint):
    """A twentieth of the calls get no answer."""
    async with store_on(endpoint) as store:
        endpoint.scatter(SILENCE, probability=0.05, seed=1)
        seconds = []

        async def puts() -> None:
            for _ in range(40):
                started = now()
                with suppress(BackendUnavailable):
                    await PUT(store)
                seconds.append(now() - started)

        await asyncio.gather(*(puts() for _ in range(5)))
        slow = [each for each in seconds if each > 0.1]
        assert 2 <= len(slow) <= 25
        assert max(slow) < 0.125 + SLACK_SECONDS
        assert sorted(seconds)[len(seconds) * 8 // 10] < 0.1


async def test_calls_beyond_the_in_flight_cap_are_refused_immediately(endpoint, monkeypatch):
    monkeypatch.setattr(client, "MAX_IN_FLIGHT", 50)
    async with store_on(endpoint) as store:
        endpoint.always("PutItem", SILENCE)
        calls = [asyncio.create_task(PUT(store)) for _ in range(50)]
        await asyncio.sleep(0.05)
        for _ in range(100):
            with pytest.raises(BackendUnavailable, match="too many calls in flight"):
                await asyncio.wait_for(GET(store), 0.1)
        for call in calls[:10]:
            call.cancel()
        await asyncio.gather(*calls[:10], return_exceptions=True)
        assert await GET(store) is None
        outcomes = await asyncio.gather(*calls[10:], return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {BackendUnavailable}
        assert len(endpoint.of("PutItem")) == 50


async def test_an_answer_that_comes_too_late_reaches_nobody(endpoint, monkeypatch):
    monkeypatch.setattr(client, "ATTEMPT_SECONDS", 0.1)
    found = {"Item": {"v": {"B": "b2xk"}}}
    async with store_on(endpoint) as store:
        endpoint.script("GetItem", *[answer(found).late(0.15)] * 4)
        await asyncio.gather(*(GET(store) for _ in range(4)))
        for _ in range(10):
            assert await GET(store) is None
            await asyncio.sleep(0.02)


async def test_a_request_that_gets_its_connection_too_late_is_not_sent():
    received, has_ended = bytearray(), asyncio.Event()

    async def take(reader, writer):
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                received.extend(piece)
        writer.close()
        has_ended.set()

    async with await asyncio.start_server(take, HOST, 0) as server:
        transport = AiohttpTransport(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/")
        with pytest.raises(NotReached):
            await transport.post({}, b"late", now() - 1)
        await transport.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await has_ended.wait()
    assert received == b""
