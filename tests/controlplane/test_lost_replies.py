"""A store applies a change and its reply is lost: the gateway reads again and reports the true outcome."""

from contextlib import asynccontextmanager

import pytest

from backends.clock import SystemClock
from tests.backends.dynamodb.conformance import new_table, suited_to_engines
from tests.controlplane.paths import BLOG, TABLES
from tests.support.dynamodb import REGION, Ministack, ScriptedEndpoint
from tests.support.gateway import Gateway, run_gateway
from tests.support.link import Link
from tests.support.redis import RedisServer

APP = "app/acme/blog/production"
CHANGES = [
    ("app.register", "PUT", "/v1/orgs/acme/apps/new", {"type": "api"}, 201),
    ("app.change", "PATCH", BLOG, {"max_tables": 2}, 200),
    ("app.suspend", "POST", f"{BLOG}/suspend", None, 200),
    ("table.create", "POST", TABLES, {"name": "more"}, 201),
    ("table.rotate", "POST", f"{TABLES}/posts/rotate", None, 200),
    ("table.change", "PATCH", f"{TABLES}/posts", {"minute_limit": 5}, 200),
    ("table.delete", "DELETE", f"{TABLES}/posts", None, 204),
    ("app.remove", "DELETE", BLOG, None, 204),
]


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def engine():
    with suited_to_engines():
        yield Ministack.shared()


@asynccontextmanager
async def on_redis(server: RedisServer):
    server.command("FLUSHALL")
    async with Link(server.port) as link:

        def lose(record: str) -> None:
            link.swallow_reply_to = lambda request: b"EVALSHA" in request and record.encode() in request

        store = {"kind": "redis", "url": f"redis://127.0.0.1:{link.port}/0"}
        async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
            yield gateway, lose, lambda: link.swallow_reply_to is None


@asynccontextmanager
async def on_dynamodb(engine):
    lost: list[str] = []
    wanted: list[str] = []

    async def step(call, forward):
        answer = await forward()
        if wanted and wanted[0].encode() in call.body:
            lost.append(wanted.pop())
            return answer.truncated()
        return answer

    async with ScriptedEndpoint(engine.endpoint_url) as endpoint:
        endpoint.always("TransactWriteItems", step)
        store = {
            "kind": "dynamodb",
            "table": new_table(),
            "region": REGION,
            "endpoint_url": endpoint.endpoint_url,
            "create_table": True,
        }
        async with run_gateway({"store": store}, clock=SystemClock()) as gateway:
            yield gateway, wanted.append, lambda: bool(lost)


@pytest.fixture(params=["redis", "dynamodb"])
def run(request):
    server = request.getfixturevalue("redis" if request.param == "redis" else "engine")
    return lambda: (on_redis if request.param == "redis" else on_dynamodb)(server)


def _audited(caplog) -> list[tuple[str, str]]:
    lines = [record.fields for record in caplog.records if record.name == "kvs.audit"]
    return [(line["action"], line["outcome"]) for line in lines]


async def _prepare(gateway: Gateway) -> None:
    """Waits for the store, then registers the blog app with one table."""
    while (await gateway.manage("PUT", BLOG, {"type": "api"})).status == 503:
        pass
    assert (await gateway.manage("POST", TABLES, {"name": "posts"})).status == 201


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])
async def test_a_change_whose_reply_the_store_lost_is_answered_and_audited_as_done(run, caplog, change):
    action, method, path, body, status = change
    async with run() as (gateway, lose, is_lost):
        await _prepare(gateway)
        caplog.clear()
        lose("app/acme/new/production" if action == "app.register" else APP)
        reply = await gateway.manage(method, path, body)
        assert is_lost()
        assert (reply.status, _audited(caplog)) == (status, [(action, "done")])
        if action in ("table.create", "table.rotate"):
            assert (await gateway.put("k", 1, token=reply.json["token"])).status == 200
        if action == "table.create":
            assert (await gateway.manage(method, path, body)).error == "table_exists"
