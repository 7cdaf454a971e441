"""Legal but rare forms of HTTP."""

import pytest

from tests.support.wire import CLOSE, head, parse_replies, read_reply, send_one, signed_call, signed_fields

LOOP_MAKES_NO_DIFFERENCE = True

BODY = b'{"key":"k"}'


@pytest.mark.parametrize("target", ["http://x/v1/get", "https://x/v1/get", "http://x/", "http://x"])
async def test_the_absolute_form_is_not_routed(gateway, target):
    reply = await send_one(gateway, head(target, [("Host", "x"), CLOSE]))
    assert (reply.status, reply.json) == (404, {"error": "not_found"})


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("OPTIONS", "*"),
        ("CONNECT", "example.test:443"),
        ("CONNECT", "x:1"),
        ("GET", "/%00"),
        ("GET", "/?" + "%" * 999),
    ],
)
async def test_targets_for_proxies_and_servers_are_not_found(gateway, method, target):
    reply = await send_one(gateway, head(target, [("Host", "x"), CLOSE], method=method))
    assert (reply.status, reply.json) == (404, {"error": "not_found"})


async def test_no_tunnel_is_opened(gateway):
    data = head("example.test:443", [("Host", "x"), CLOSE], method="CONNECT")
    reply = await send_one(gateway, data + b"\x16\x03\x01tunnelled")
    assert reply.status == 404


@pytest.mark.parametrize("path", ["/v1/get", "/v1/put", "/"])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_a_request_without_version_gets_a_json_refusal(gateway, method, path):
    reply = await send_one(gateway, f"{method} {path}\r\n\r\n".encode())
    assert reply.status in {400, 404, 405}
    assert set(reply.json) == {"error"}


async def test_http_1_0_is_served_and_the_connection_closed(gateway):
    fields = [*signed_fields(gateway, BODY, "/v1/get"), ("Content-Length", len(BODY))]
    reply = await send_one(gateway, head("/v1/get", fields, version="1.0") + BODY)
    assert (reply.status, reply.closes) == (200, True)


async def test_http_1_0_needs_no_host_to_be_refused_by_the_first_layer(gateway):
    reply = await send_one(gateway, head("/v1/get", [], version="1.0"))
    assert (reply.status, reply.error) == (403, "missing_signature")


@pytest.mark.parametrize(
    "fields",
    [
        [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "x"),
        ],
        [
            ("Upgrade", "h2c"),
            ("Connection", "Upgrade, HTTP2-Settings"),
            ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
        ],
        [("Upgrade", "TLS/1.3"), ("Connection", "upgrade")],
    ],
    ids=["websocket", "h2c", "TLS"],
)
async def test_an_upgrade_is_ignored_and_the_call_answered(gateway, fields):
    reader, writer = await gateway.connect()
    writer.write(signed_call(gateway, "get", BODY, extra=fields))
    first = await read_reply(reader)
    writer.write(signed_call(gateway, "put", b'{"key":"k","value":1}'))
    second = await read_reply(reader)
    writer.close()
    assert (first.status, second.status) == (200, 200)


async def test_empty_lines_before_a_request_are_skipped(gateway):
    assert (await send_one(gateway, b"\r\n\r\n" + signed_call(gateway, "get", BODY))).status == 200


async def test_pipelined_requests_are_answered_in_their_order(gateway):
    for number in range(20):
        await gateway.put(f"k{number}", number)
    calls = [signed_call(gateway, "get", b'{"key":"k%d"}' % number, extra=()) for number in range(20)]
    calls.append(signed_call(gateway, "get", b'{"key":"last"}'))
    replies = parse_replies(await gateway.send_raw(b"".join(calls)))
    assert [reply.json.get("value") for reply in replies] == [*range(20), None]
    assert [reply.closes for reply in replies] == [False] * 20 + [True]


async def test_a_write_and_a_read_in_one_packet_happen_in_their_order(gateway):
    calls = []
    for number in range(10):
        calls.append(signed_call(gateway, "put", b'{"key":"k","value":%d}' % number, extra=()))
        calls.append(signed_call(gateway, "get", BODY, extra=()))
    calls.append(signed_call(gateway, "get", BODY))
    replies = parse_replies(await gateway.send_raw(b"".join(calls)))
    assert [reply.json["value"] for reply in replies[1::2]] == list(range(10))


async def test_refusals_in_between_do_not_end_a_connection(gateway):
    fields = [("Host", "x"), ("Content-Length", 2)]
    data = head("/nowhere", fields) + b"{}" + head("/v1/get", fields, method="PUT") + b"{}"
    data += head("/v1/get", fields) + b"{}" + signed_call(gateway, "get", BODY)
    replies = parse_replies(await gateway.send_raw(data))
    assert [reply.status for reply in replies] == [404, 405, 403, 200]


async def test_a_hundred_pipelined_requests_are_all_answered(gateway):
    data = head("/v1/get", [("Host", "x")]) * 99 + head("/v1/get", [("Host", "x"), CLOSE])
    replies = parse_replies(await gateway.send_raw(data))
    assert [reply.status for reply in replies] == [403] * 100


async def test_a_request_that_comes_byte_by_byte_is_served(gateway):
    reader, writer = await gateway.connect()
    for byte in signed_call(gateway, "get", BODY):
        writer.write(bytes([byte]))
        await writer.drain()
    assert (await read_reply(reader)).status == 200
    writer.close()


async def test_nothing_behind_a_request_that_closes_is_carried_out(gateway):
    last = signed_call(gateway, "put", b'{"key":"k","value":1}')
    await gateway.send_raw(signed_call(gateway, "get", BODY) + last)
    assert gateway.faults.count("put") == 0


async def test_an_empty_line_behind_a_request_that_closes_is_no_fault(gateway):
    assert (await send_one(gateway, signed_call(gateway, "get", BODY) + b"\r\n")).status == 200
