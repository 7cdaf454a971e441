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


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("size", [1, 5, 12, 200])
async def test_a_request_behind_an_upgrade_in_two_packets_is_answered(gateway, protocol, size):
    asking, last = upgrading(gateway, protocol), signed_call(gateway, "get", BODY)
    assert await statuses(gateway, asking[:-size], asking[-size:] + last) == [200, 200]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_request_behind_an_upgrade_in_chunks_is_answered(gateway, protocol):
    asking, last = upgrading(gateway, protocol, in_chunks=True), signed_call(gateway, "get", BODY)
    assert await statuses(gateway, asking + last) == [200, 200]


@pytest.mark.parametrize("empty_lines", [0, 1, 2, 3])
async def test_a_call_hidden_in_the_head_of_another_is_not_carried_out(gateway, empty_lines):
    """Its request line is the value of a field. It has the fields behind that, and the body, of the other."""
    await gateway.put("k", 1)
    plain = signed_call(gateway, "get", BODY, extra=())
    top = b"POST /v1/get HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: foo\r\nX-Hidden: "
    body = BODY.ljust(len(top))
    asking = top + signed_call(gateway, "delete", body)
    assert await statuses(gateway, plain + b"\r\n" * empty_lines + asking) == [200, 403]
    assert (await gateway.get("k")).json["found"] is True


async def test_garbage_behind_an_upgrade_is_refused_after_the_response(gateway):
    assert await statuses(gateway, upgrading(gateway, "foo") + b"not HTTP\r\n\r\n") == [200, 400]


@pytest.mark.parametrize("version", ["2.0", "0.9", "1.2", "3.0"])
async def test_another_version_of_http_is_refused(gateway, version):
    call = signed_call(gateway, "get", BODY).replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    assert await statuses(gateway, call) == [400]
