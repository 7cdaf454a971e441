"""A client names the trace that its request belongs to; whether it is traced is the gateway's own share."""

import pytest

from tests.support.receiver import attributes_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize("flags", ["00", "01", "03"])
async def test_a_traceparent_names_the_trace_with_any_flags(traced, receiver, flags):
    async with traced() as gateway:
        await gateway.get("k", headers={"traceparent": f"00-{TRACE}-{SPAN}-{flags}"})
    (request,) = receiver.requests()
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, SPAN)
    assert len(receiver.children(request)) == 1


@pytest.mark.parametrize(
    "field",
    [
        "",
        "canary",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01,00-{TRACE}-{SPAN}-01",
        "00-" + "a" * 3000,
        "\x80\xff",
    ],
)
async def test_a_malformed_traceparent_is_ignored(traced, receiver, field):
    async with traced() as gateway:
        reply = await gateway.get("k", headers={"traceparent": field})
    assert reply.status == 200
    (request,) = receiver.requests()
    assert request.parent_span_id == b""
    assert request.trace_id.hex() != TRACE


async def test_two_traceparents_are_ignored(traced, receiver):
    field = f"traceparent: 00-{TRACE}-{SPAN}-01\r\n".encode()
    async with traced() as gateway:
        await gateway.send_raw(
            b"POST /v1/get HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + field + field + b"\r\n"
        )
    (request,) = receiver.requests()
    assert request.parent_span_id == b""


@pytest.mark.parametrize("share", [0, 0.5])
async def test_no_client_can_have_itself_traced(traced, receiver, monkeypatch, share):
    monkeypatch.setattr("gateway.observability.tracing.spans.random", lambda: 0.5)
    async with traced({"tracing": {"share": share}}) as gateway:
        for trace in (TRACE, f"{1:032x}", f"{'f' * 32}"):
            await gateway.get("k", headers={"traceparent": f"00-{trace}-{SPAN}-01"})
    assert receiver.bodies == []


async def test_a_share_of_requests_is_traced_whole(traced, receiver, monkeypatch):
    drawn = iter([0.2, 0.6, 0.4, 0.5])
    monkeypatch.setattr("gateway.observability.tracing.spans.random", lambda: next(drawn))
    async with traced({"tracing": {"share": 0.5}}) as gateway:
        for name in "abcd":
            await gateway.get("k", headers={"x-request-id": name})
    assert [attributes_of(request)["kvs.request_id"] for request in receiver.requests()] == ["a", "c"]
    assert len(receiver.spans) == 4


async def test_lines_of_a_traced_request_lead_to_its_trace(traced, receiver, lines):
    async with traced({"logging": {"access": 1}}) as gateway:
        gateway.faults.fail = {"get"}
        await gateway.get("k")
    (request,) = receiver.requests()
    (failure,), (access,) = lines("kvs.stores"), lines("kvs.access")
    for line in (failure, access):
        assert (line["trace_id"], line["span_id"]) == (request.trace_id.hex(), request.span_id.hex())
        assert line["request_id"] == attributes_of(request)["kvs.request_id"]


async def test_lines_of_untraced_requests_name_no_trace(traced, lines):
    async with traced({"logging": {"access": 1}, "tracing": {"share": 0}}) as gateway:
        await gateway.get("k")
    (access,) = lines("kvs.access")
    assert "trace_id" not in access
