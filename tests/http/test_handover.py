"""Handover of a shared port: new handshakes reach the other listeners, those that have begun end here."""

import asyncio
import socket
import sys

import pytest

from gateway.http.handover import leave_port
from tests.support.stopwatch import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has filters on sockets")


_SO_LOCK_FILTER = 44


def listen(port: int = 0) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(16)
    listening.setblocking(False)
    return listening


@pytest.fixture
def leaving():
    with listen() as listening:
        yield listening


async def test_a_connection_to_a_port_that_is_left_reaches_the_next_listener(leaving):
    await leave_port([leaving])
    connecting = asyncio.create_task(asyncio.open_connection(*leaving.getsockname()))
    await asyncio.sleep(0.2)
    assert not connecting.done()
    with listen(leaving.getsockname()[1]) as staying:
        leaving.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, writer = await connecting
        accepted, _ = await asyncio.get_running_loop().sock_accept(staying)
        accepted.close()
        writer.close()


async def test_a_drain_without_the_right_to_set_a_filter_continues_and_warns(leaving, caplog):
    leaving.setsockopt(socket.SOL_SOCKET, _SO_LOCK_FILTER, 1)
    _, writer = await asyncio.open_connection(*leaving.getsockname())
    await leave_port([leaving])
    leaving.accept()[0].close()
    writer.close()
    assert [record.fields["reason"] for record in caplog.records] == ["Operation not permitted"]


async def test_a_connection_made_before_the_handover_can_still_be_accepted_and_used(leaving):
    reader, writer = await asyncio.open_connection(*leaving.getsockname())
    await leave_port([leaving])
    accepted, _ = leaving.accept()
    with accepted:
        accepted.sendall(b"hello")
        assert await reader.readexactly(5) == b"hello"
    writer.close()
