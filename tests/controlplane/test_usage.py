"""Usage of an app over HTTP: permissions, queries, and a misbehaving Prometheus."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

import gateway.controlplane.usage
from gateway.controlplane.usage import MAX_REPORTS
from gateway.http.turns import MAX_BODIES, MAX_REQUESTS
from gateway.identity.issuer_keys import MOST_WAITING
from tests.controlplane.paths import APPS, BLOG, DECLARED
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway
from tests.support.heartbeat import Heartbeat
from tests.support.wire import until

USAGE = f"{DECLARED}/usage"
QUERIES = 6
"""Queries of Prometheus for one call."""

READER = {"name": "shop-team", "token": "the-token-of-shop-team", "allow": ["read"], "apps": ["shop"]}


def result(*series) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()


class FakePrometheus:
    """A fake Prometheus that answers with `body` or by `answer`; `asked` collects the forms."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.body = result()
        self.status = 200
        self.answer = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(await request.post()))
        if self.answer is not None:
            return await self.answer(request)
        return web.Response(status=self.status, body=self.body, content_type="application/json")


@asynccontextmanager
async def beside_prometheus(**changes):
    prometheus = FakePrometheus()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", prometheus.handle)
    runner = web.AppRunner(application, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    settings = {"console": {"prometheus": f"http://127.0.0.1:{port}"}, **changes}
    try:
        async with run_gateway(settings) as running:
            yield prometheus, running
    finally:
        await runner.cleanup()


async def test_without_a_prometheus_there_is_no_usage(gateway):
    reply = await gateway.manage("GET", USAGE)
    assert (reply.status, reply.error) == (404, "no_usage")
    assert "console.prometheus" in reply.headers["x-kvs-error-detail"]


async def test_every_query_but_that_of_refusals_is_limited_to_the_app():
    async with beside_prometheus() as (prometheus, gateway):
        reply = await gateway.manage("GET", f"{USAGE}?env=production&range=day&table=carts")
        assert reply.status == 200
        scope = 'org="acme",app="shop",env="production",table="carts"'
        queries = [form["query"] for form in prometheus.asked]
        assert sum(scope in query for query in queries) == len(queries) - 1 == 5
        assert [query for query in queries if scope not in query] == [
            "sum by (code) (increase(kvs_refusals_total[86400s]))"
        ]
        steps = [form for form in prometheus.asked if "step" in form]
        assert [(int(form["end"]) - int(form["start"])) // int(form["step"]) + 1 for form in steps] == [48]


async def test_a_scoped_caller_does_not_see_the_regions_refusals():
    async with beside_prometheus(control={"tokens": [CONTROL_TOKEN, READER]}) as (prometheus, gateway):
        assert (await gateway.manage("GET", USAGE)).json["refusals"] == {}
        reply = await gateway.manage("GET", USAGE, token=READER["token"])
        assert (reply.status, reply.json["refusals"]) == (200, None)
        assert len(prometheus.asked) == 6 + 5


@pytest.mark.parametrize(("allow", "apps"), [(["tables", "apps"], []), (["read"], ["blog"])])
async def test_a_caller_without_permission_is_refused_before_prometheus_is_queried(allow, apps):
    entry = {**READER, "allow": allow, "apps": apps}
    async with beside_prometheus(control={"tokens": [CONTROL_TOKEN, entry]}) as (prometheus, gateway):
        assert (await gateway.manage("GET", USAGE, token=entry["token"])).error == "not_allowed"
        assert prometheus.asked == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{BLOG}/usage", "app_not_found"),
        (f"{USAGE}?env=staging", "app_not_found"),
        (f"{USAGE}?range=year", "invalid_range"),
        (f"{USAGE}?range=hour&range=day", "invalid_range"),
        (f"{USAGE}?range=", "invalid_range"),
        (f"{USAGE}?table=a&table=b", "invalid_name"),
        (f"{USAGE}?table=x%22%7D%20or%20vector(1)%20%23", "invalid_name"),
        (f"{USAGE}?env=production%22%2Corg%3D~%22.%2A", "invalid_name"),
        (f"{APPS}/shop%22/usage", "invalid_name"),
        (f"{USAGE}?query=up", "unknown_parameter"),
        (f"{USAGE}?limit={'9' * 6000}", "unknown_parameter"),
    ],
)
async def test_an_invalid_query_is_refused_before_prometheus_is_queried(path, code):
    async with beside_prometheus() as (prometheus, gateway):
        assert (await gateway.manage("GET", path)).error == code
        assert prometheus.asked == []


async def test_other_paths_of_an_app_accept_no_range():
    async with beside_prometheus() as (_, gateway):
        assert (await gateway.manage("GET", f"{DECLARED}?range=hour")).error == "unknown_parameter"


async def test_a_report_is_cached_for_ten_seconds():
    async with beside_prometheus() as (prometheus, gateway):
        for _ in range(3):
            await gateway.manage("GET", USAGE)
        assert len(prometheus.asked) == 6
        gateway.clock.advance(10_000)
        await gateway.manage("GET", USAGE)
        assert len(prometheus.asked) == 12


def one(metric=None, **fields):
    return {
        "metric": {"table": "carts", "outcome": "ok", "code": "x"} if metric is None else metric,
        **fields,
    }


MISBEHAVIOUR = {
    "no JSON": b"<html>",
    "not UTF-8": b'{"data": {"result": ["\xff"]}}',
    "no result": b"{}",
    "another shape": result("x"),
    "numbers in place of texts": result(one(value=[1, 2])),
    "NaN": result(one(value=[1, "NaN"])),
    "infinite": result(one(value=[1, "+Inf"])),
    "negative": result(one(value=[1, "-5"])),
    "no figure": result(one(value=[1, "many"])),
    "no points": result(one(values=[])),
    "no labels": result(one({}, value=[1, "1"])),
    "markup": result(one({"table": "<script>", "outcome": "<b>", "code": "<i>"}, value=[1, "1"])),
    "one long series": result(one(values=[[1, "1"]] * 10_000)),
    "deep": b'{"data":' + b"[" * 100_000,
    "many bytes": b" " * 300_000,
    "infinite times": result(one(value=[-1, "1"])).replace(b"-1", b"1e400"),
}


@pytest.mark.parametrize("body", MISBEHAVIOUR.values(), ids=MISBEHAVIOUR)
async def test_an_implausible_prometheus_response_is_503_with_a_detail(body):
    async with beside_prometheus() as (prometheus, gateway):
        prometheus.body = body
        reply = await gateway.manage("GET", USAGE)
        assert (reply.status, reply.error, reply.headers["Retry-After"]) == (503, "usage_unavailable", "10")
        assert "rometheus" in reply.headers["x-kvs-error-detail"]
        assert "script" not in reply.headers["x-kvs-error-detail"]
        prometheus.body = result()
        assert (await gateway.manage("GET", USAGE)).status == 200


@pytest.mark.parametrize("status", [302, 400, 422, 500, 503])
async def test_an_error_or_redirect_of_prometheus_is_503(status):
    async with beside_prometheus() as (prometheus, gateway):
        prometheus.status = status
        reply = await gateway.manage("GET", USAGE)
        assert (reply.status, reply.headers["x-kvs-error-detail"]) == (503, f"Prometheus answers {status}")


async def test_an_endless_response_is_cut_and_delays_nobody():
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1600):
            await response.write(b" " * 65_536)
        return response

    async with beside_prometheus() as (prometheus, gateway):
        prometheus.answer = endless
        reply = await gateway.manage("GET", USAGE)
        assert (reply.status, reply.error) == (503, "usage_unavailable")
        assert "262144 bytes" in reply.headers["x-kvs-error-detail"]


async def test_a_silent_prometheus_is_503_at_the_deadline_and_other_calls_are_served(monkeypatch):
    monkeypatch.setattr(gateway.controlplane.usage, "_DEADLINE_SECONDS", 0.2)

    async def silent(request):
        await asyncio.sleep(60)

    async with beside_prometheus() as (prometheus, running):
        prometheus.answer = silent
        asked = [asyncio.create_task(running.manage("GET", USAGE)) for _ in range(MAX_REPORTS)]
        assert (await running.manage("GET", DECLARED)).status == 200
        replies = await asyncio.gather(*asked)
        assert {(each.status, each.error) for each in replies} == {(503, "usage_unavailable")}


async def test_at_most_four_calls_query_prometheus_at_a_time(monkeypatch):
    monkeypatch.setattr(gateway.controlplane.usage, "_DEADLINE_SECONDS", 60.0)
    all_asked, answered = asyncio.Event(), asyncio.Event()

    async def held(request):
        if len(prometheus.asked) == 4 * QUERIES:
            all_asked.set()
        await answered.wait()
        return web.Response(body=result(), content_type="application/json")

    async with beside_prometheus() as (prometheus, running):
        prometheus.answer = held
        asked = [asyncio.create_task(running.manage("GET", USAGE)) for _ in range(MAX_REPORTS)]
        await all_asked.wait()
        answered.set()
        assert {each.status for each in await asyncio.gather(*asked)} == {200}
        assert len(prometheus.asked) == 4 * QUERIES


def test_waiting_reports_leave_requests_of_a_lane_to_others():
    assert MAX_REPORTS + MAX_BODIES + MOST_WAITING < MAX_REQUESTS


async def test_reports_of_a_silent_prometheus_do_not_take_the_requests_of_other_calls(monkeypatch):
    monkeypatch.setattr(gateway.controlplane.usage, "_DEADLINE_SECONDS", 60.0)
    answered = asyncio.Event()

    async def held(request):
        await answered.wait()
        return web.Response(body=result(), content_type="application/json")

    async with beside_prometheus() as (prometheus, running):
        prometheus.answer = held
        asked = [asyncio.create_task(running.manage("GET", USAGE)) for _ in range(2 * MAX_REQUESTS)]
        await until(lambda: sum(each.done() for each in asked) >= len(asked) - MAX_REPORTS)
        assert (await running.manage("POST", f"{APPS}/nowhere/suspend")).error == "app_not_found"
        answered.set()
        replies = [await each for each in asked]
        assert {(each.status, each.error) for each in replies} == {(200, None), (503, "overloaded")}
        assert sum(each.status == 200 for each in replies) == MAX_REPORTS


async def test_an_unreachable_prometheus_is_503():
    async with run_gateway({"console": {"prometheus": "http://127.0.0.1:1"}}) as gateway:
        reply = await gateway.manage("GET", USAGE)
        assert (reply.status, reply.error) == (503, "usage_unavailable")


async def test_the_largest_response_blocks_the_loop_for_less_than_5_ms():
    points = [[1_795_132_800 + n, "12.5"] for n in range(60)]
    many = [one({"table": f"t{n}", "outcome": "ok", "code": "x"}, values=points) for n in range(180)]
    body = result(*many)
    assert 200_000 < len(body) < gateway.controlplane.usage.MOST_BYTES
    held = []
    for _ in range(3):
        async with Heartbeat() as heartbeat:
            decoded = [each async for each in gateway.controlplane.usage_queries._decode(body)]
        held.append(heartbeat.loop_ms)
    assert len(decoded) == 180
    assert min(held) < 5
