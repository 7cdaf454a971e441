"""RFC 9110, section 7.8: a server may ignore Upgrade, and answers what is pipelined behind it (D68)."""

import asyncio

import pytest

from tests.support.stopwatch import PATIENCE_SECONDS
from tests.support.wire import parse_replies, signed_call

LOOP_MAKES_NO_DIFFERENCE = True

BODY = b'{"key":"k"}'
PROTOCOLS = ["foo", "h2c", "websocket", "tcp"]


def upgrading(gateway, protocol: str, name: str = "Upgrade", **options) -> bytes:
    extra = [("Connection", "upgrade"), (name, protocol)]
    return signed_call(gateway, "get", BODY, extra=extra, **options)


async def statuses(gateway, *packets: bytes) -> list[int]:
    """Returns the statuses of the replies to packets that arrive one by one."""
    reader, writer = await gateway.connect()
    for packet in packets:
        writer.write(packet)
        await asyncio.sleep(0.01)
    async with asyncio.timeout(PATIENCE_SECONDS):
        received = await reader.read()
    writer.close()
    return [reply.status for reply in parse_replies(received)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["Upgrade", "upgrade", "UPGRADE", "uPgRaDe"])
async def test_a_request_pipelined_behind_an_upgrade_is_answered(gateway, protocol, name):
    last = signed_call(gateway, "get", BODY)
    assert await statuses(gateway, upgrading(gateway, protocol, name) + last) == [200, 200]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_upgrades_among_other_requests_are_answered_in_turn(gateway, protocol):
    plain = signed_call(gateway, "get", BODY, extra=())
    asking = upgrading(gateway, protocol)
    last = signed_call(gateway, "get", BODY)
    assert await statuses(gateway, plain + asking + asking + plain + last) == [200] * 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_head_with_an_upgrade_may_come_in_two_packets(gateway, protocol):
    asking = upgrading(gateway, protocol)
    last = signed_call(gateway, "get", BODY)
    assert await statuses(gateway, asking[:40], asking[40:] + last) == [200, 200]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_request_after_the_answer_to_an_upgrade_is_answered(gateway, protocol):
    asking, last = upgrading(gateway, protocol), signed_call(gateway, "get", BODY)
    assert await statuses(gateway, asking, last) == [200, 200]


@pytest.mark.parametrize("size", [1, 5])
async def test_a_connection_ends_with_its_response_if_the_end_of_an_upgrading_request_is_unknown(
    gateway, size
):
    """Its body came in a packet of its own, or in chunks: aiohttp has dropped what followed."""
    asking, last = upgrading(gateway, "foo"), signed_call(gateway, "get", BODY)
    assert await statuses(gateway, asking[:-size], asking[-size:] + last) == [200]
    in_chunks = upgrading(gateway, "foo", in_chunks=True)
    assert await statuses(gateway, in_chunks + last) == [200]


async def test_garbage_behind_an_upgrade_is_refused_after_the_response(gateway):
    assert await statuses(gateway, upgrading(gateway, "foo") + b"not HTTP\r\n\r\n") == [200, 400]


@pytest.mark.parametrize("version", ["2.0", "0.9", "1.2", "3.0"])
async def test_another_version_of_http_is_refused(gateway, version):
    call = signed_call(gateway, "get", BODY).replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    assert await statuses(gateway, call) == [400]
