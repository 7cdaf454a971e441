"""A span per request of the data plane, whatever became of it, and one below it for each call of a store."""

import asyncio

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.support.receiver import attributes_of
from tests.support.redis import RedisServer

TENANT = {"kvs.org": "acme", "kvs.app": "shop", "kvs.env": "production", "kvs.table": "sessions"}


def _only(spans):
    (span,) = spans
    return span


async def test_a_put_is_a_span_with_its_one_step_of_the_store_below_it(traced, receiver):
    async with traced() as gateway:
        reply = await gateway.put("k", 1)
    request = _only(receiver.requests())
    assert (request.name, request.kind) == ("POST /v1/put", Span.SPAN_KIND_SERVER)
    assert attributes_of(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/put",
        "http.response.status_code": 200,
        "kvs.operation": "put",
        "kvs.outcome": "ok",
        "kvs.request_id": reply.headers["x-request-id"],
        **TENANT,
    }
    call = _only(receiver.children(request))
    assert (call.name, call.kind) == ("memory put", Span.SPAN_KIND_CLIENT)
    assert attributes_of(call) == {"db.system.name": "memory", "db.operation.name": "put"}
    assert request.start_time_unix_nano <= call.start_time_unix_nano
    assert call.end_time_unix_nano <= request.end_time_unix_nano


async def test_a_malformed_call_is_a_span_with_a_charge_below_it(traced, receiver):
    async with traced() as gateway:
        assert (await gateway.get("")).error == "invalid_key"
    call = _only(receiver.children(_only(receiver.requests())))
    assert call.name == "memory charge"


async def test_a_charge_in_another_store_is_a_span_of_its_own(traced, receiver):
    async with traced({"counters": {"kind": "memory"}}) as gateway:
        await gateway.put("k", 1)
    calls = receiver.children(_only(receiver.requests()))
    assert [call.name for call in calls] == ["memory charge", "memory put"]
    assert calls[0].end_time_unix_nano <= calls[1].start_time_unix_nano


@pytest.mark.parametrize(("operation", "outcome"), [("get", "not_found"), ("delete", "ok")])
async def test_the_other_operations_are_spans_of_their_own_name(traced, receiver, operation, outcome):
    async with traced() as gateway:
        await gateway.call(operation, {"key": "k"})
    request = _only(receiver.requests())
    assert request.name == f"POST /v1/{operation}"
    assert attributes_of(request)["kvs.outcome"] == outcome
    assert [call.name for call in receiver.children(request)] == [f"memory {operation}"]


async def test_a_token_that_has_to_be_looked_up_shows_its_reads(traced, receiver):
    async with traced() as gateway:
        await gateway.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
        tables = "/v1/orgs/acme/apps/blog/services/kvs/tables"
        token = (await gateway.manage("POST", tables, {"name": "posts"})).json["token"]
        assert (await gateway.get("k", token=token)).status == 200
    names = [call.name for call in receiver.children(_only(receiver.requests()))]
    assert names == ["memory read", "memory read", "memory get"]


async def test_a_lookup_that_several_requests_wait_for_belongs_to_the_first(traced, receiver):
    async with traced() as gateway:
        await gateway.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
        tables = "/v1/orgs/acme/apps/blog/services/kvs/tables"
        token = (await gateway.manage("POST", tables, {"name": "posts"})).json["token"]
        gateway.faults.gate.clear()
        waiting = [asyncio.create_task(gateway.get("k", token=token)) for _ in range(3)]
        while len(gateway.app.drain.calls) < 3:  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)
        gateway.faults.gate.set()
        await asyncio.gather(*waiting)
    reads = [
        sum(call.name == "memory read" for call in receiver.children(request))
        for request in receiver.requests()
    ]
    assert sorted(reads) == [0, 0, 2]


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"signer": None}, 403, "missing_signature"),
        ({"token": None}, 401, "missing_token"),
        ({"headers": {"Content-Type": "text/plain"}}, 400, "invalid_content_type"),
        ({"path": "/v1/get?x=1"}, 200, None),
    ],
)
async def test_a_refusal_is_a_span_with_its_code_and_no_error(traced, receiver, options, status, code):
    async with traced() as gateway:
        await gateway.get("k", **options)
    request = _only(receiver.requests())
    attributes = attributes_of(request)
    assert (attributes["http.response.status_code"], attributes.get("kvs.code")) == (status, code)
    assert request.name == "POST /v1/get"
    assert request.status.code == Status.STATUS_CODE_UNSET
    assert "error.type" not in attributes
    assert ("kvs.org" in attributes) == (status in {200, 400})


async def test_an_unknown_route_is_named_by_its_method_alone(traced, receiver):
    async with traced() as gateway:
        await gateway.get("k", path="/v1/canary-path?canary-query=1")
        await gateway.send_raw(b"PROPFIND /v1/get HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        await gateway.send_raw(b"GET /v1/get HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    unknown, strange, known = receiver.requests()
    assert (unknown.name, attributes_of(unknown)["kvs.code"]) == ("POST", "not_found")
    assert not {"http.route", "kvs.operation"} & attributes_of(unknown).keys()
    assert strange.name == "HTTP /v1/get"
    assert attributes_of(strange)["http.request.method"] == "_OTHER"
    assert (known.name, attributes_of(known)["kvs.code"]) == ("GET /v1/get", "method_not_allowed")


async def test_a_failed_store_call_is_an_error_in_both_spans(traced, receiver):
    async with traced() as gateway:
        gateway.faults.fail = {"get"}
        await gateway.get("k")
    request = _only(receiver.requests())
    assert request.status.code == Status.STATUS_CODE_ERROR
    assert attributes_of(request)["error.type"] == "storage_unavailable"
    call = _only(receiver.children(request))
    assert (call.status.code, call.status.message) == (Status.STATUS_CODE_ERROR, "injected")
    assert attributes_of(call)["error.type"] == "BackendUnavailable"


async def test_an_unhandled_exception_is_an_error_without_its_message(traced, receiver):
    async with traced() as gateway:
        gateway.faults.fail, gateway.faults.error = {"get"}, ZeroDivisionError
        gateway.faults.reason = "canary-message"
        assert (await gateway.get("k")).status == 500
    request = _only(receiver.requests())
    assert attributes_of(request)["error.type"] == "internal_error"
    assert attributes_of(_only(receiver.children(request)))["error.type"] == "ZeroDivisionError"
    assert b"canary" not in b"".join(receiver.bodies)


async def test_a_fault_outside_the_handler_is_an_error_as_well(traced, receiver, monkeypatch):
    async with traced() as gateway:
        monkeypatch.setattr(gateway.app.data.handler._access_log, "share", "not a number")
        assert (await gateway.get("k")).status == 500
    attributes = attributes_of(_only(receiver.requests()))
    assert (attributes["http.response.status_code"], attributes["error.type"]) == (500, "internal_error")


async def test_a_hanging_redis_is_distinguished_from_the_gateways_own_time(traced, receiver):
    with RedisServer() as server:
        async with traced({"store": {"kind": "redis", "url": server.url}}) as gateway:
            assert (await gateway.get("k")).status == 200
            server.stop()
            assert (await gateway.get("k")).error == "storage_unavailable"  # it may be applied yet
            server.resume()
    request = _only(each for each in receiver.requests() if each.status.code == Status.STATUS_CODE_ERROR)
    call = _only(receiver.children(request))
    assert (call.name, attributes_of(call)["db.system.name"]) == ("redis get", "redis")
    assert attributes_of(call)["error.type"] == "BackendUnavailable"
    assert call.end_time_unix_nano - call.start_time_unix_nano > 200_000_000


async def test_a_call_cut_off_by_a_shutdown_is_a_span_of_its_tenant(traced, receiver):
    async with traced() as gateway:
        gateway.faults.gate.clear()
        call = asyncio.create_task(gateway.get("k"))
        while not gateway.faults.count("charge"):  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)
        gateway.app.drain.stop_calls()
        assert (await call).error == "shutting_down"
    request = _only(receiver.requests())
    attributes = attributes_of(request)
    assert attributes["error.type"] == "shutting_down"
    assert attributes["kvs.table"] == "sessions"
    assert attributes_of(_only(receiver.children(request)))["error.type"] == "CancelledError"


async def test_only_data_plane_requests_are_traced(traced, receiver):
    async with traced() as gateway:
        await gateway.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
        await gateway.manage("GET", "/v1/orgs/acme/apps/blog")
        await gateway.ask_ops("/readyz")
        await gateway.app.ops.health.check()
        await gateway.app.directory.reclaimer.run()
        await gateway.get("k")
    assert len(receiver.requests()) == 1
    assert {span.trace_id for span in receiver.spans} == {receiver.requests()[0].trace_id}
