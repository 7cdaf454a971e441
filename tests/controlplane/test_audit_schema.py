"""One schema for all audit events. Events of all tests fit it (tests/conftest.py); altered ones do not."""

import asyncio
from collections import Counter

import jsonschema_rs
import pytest

from gateway.directory.apps import changes
from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, TABLES
from tests.controlplane.test_audit import CHANGES, REFUSED
from tests.credentialsplane.workloads import assume, fetch, vouch, vouched
from tests.support.audit import SCHEMA, audit_lines, faults_of
from tests.support.config import ROLE
from tests.support.gateway import run_gateway
from tests.support.wire import until

GONE = "gone"
ENVELOPE = {"time", "level", "logger", "message", "action", "environment", "outcome", "actor", "peer"}
ALTERED = [
    *((name, GONE) for name in sorted({*ENVELOPE, "request_id", "table", "overlap_seconds"})),
    ("action", "table.forget"),
    ("action", "app.remove"),
    ("outcome", "refused"),
    ("outcome", "issued"),
    ("code", "table_not_found"),
    ("environment", "acme/blog"),
    ("environment", None),
    ("actor", None),
    ("actor", ""),
    ("issuer", None),
    ("overlap_seconds", "5"),
    ("overlap_seconds", -1),
    ("token", "kvs_5MiFe5L2EwnHr14WpWpClsHJaCp33ti3KOx22Qzlo7O1vHjlC"),
    ("minute_limit", 5),
    ("time", "yesterday"),
]


@pytest.fixture
async def written():
    with audit_lines() as lines:
        yield lines


@pytest.fixture
async def rotated(blog):
    """The audit event of a rotation."""
    await blog.manage("POST", TABLES, {"name": "posts"})
    with audit_lines() as written:
        await blog.manage("POST", f"{TABLES}/posts/rotate", {"overlap_seconds": 5})
    (line,) = written.lines
    return line


def test_the_schema_is_one():
    jsonschema_rs.meta.validate(SCHEMA)


@pytest.mark.parametrize(("name", "value"), ALTERED, ids=str)
async def test_an_altered_line_does_not_fit(rotated, name, value):
    assert faults_of(rotated) == []
    altered = {key: each for key, each in {**rotated, name: value}.items() if each != GONE}
    assert faults_of(altered)


async def test_every_changing_action_writes_audit_events(tmp_path, written):
    """The schema, the routes and this test have the same actions."""
    async with run_gateway(vouched(tmp_path)) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        await gateway.manage("POST", TABLES, {"name": "posts"})
        for method, path, body, _ in CHANGES:
            await gateway.manage(method, path, body)
        await gateway.manage("POST", CREDENTIALS, {"role": ROLE})
        await fetch(gateway)
        await assume(gateway, vouch())
        routes = gateway.app.control.handler.router.routes
    named = {each["$ref"].rpartition("/")[2] for each in SCHEMA["oneOf"]}
    changing = {action.name for _, methods in routes for method, action in methods.items() if method != "GET"}
    assert named == changing | {"credentials.container", "credentials.web_identity"}
    assert {line["action"] for line in written.lines if line["outcome"] == "done"} == named


async def test_the_metric_agrees_with_the_audit_events(blog, written, monkeypatch):
    """Compares counts by action and outcome. Reads have no audit event."""
    before = await _counted(blog)
    await blog.manage("POST", TABLES, {"name": "posts"})
    for method, path, body, _ in REFUSED:
        await blog.manage(method, path, body)
    monkeypatch.setattr(changes, "_FIND_OUT_SECONDS", 0)
    blog.faults.lose = {"app/acme/blog/production"}
    await blog.manage("POST", f"{BLOG}/suspend")
    blog.faults.fail = {"*"}
    await blog.manage("POST", f"{BLOG}/suspend")
    blog.faults.fail = set()
    for method, path, body, _ in CHANGES:
        await blog.manage(method, path, body)
    await blog.manage("GET", APPS)
    await blog.manage("POST", TABLES, {"name": "posts"}, token="no-such-control-token")
    lines = Counter((line["action"], line["outcome"]) for line in written.lines)
    assert {outcome for _, outcome in lines} == {"done", "refused", "unknown"}
    counted = await _counted(blog) - before
    assert counted - lines == {("app.list", "done"): 1, ("authenticate", "refused"): 1}
    assert lines - counted == {}


async def test_a_cancelled_change_is_counted_and_recorded_as_unknown(written):
    async with run_gateway() as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        gateway.faults.gate.clear()
        gateway.faults.calls.clear()
        asking = asyncio.create_task(gateway.manage("POST", f"{BLOG}/suspend"))
        await until(lambda: ("read", "app/acme/blog/production") in gateway.faults.calls)
    await asyncio.gather(asking, return_exceptions=True)
    (line,) = [line for line in written.lines if line["action"] == "app.suspend"]
    assert (line["outcome"], line["code"], line["actor"]) == ("unknown", "shutting_down", "token-1")
    assert gateway.app.control.handler.counted["app.suspend", "unknown"] == 1


async def _counted(gateway) -> Counter[tuple[str, str]]:
    prefix = 'kvs_control_requests_total{action="'
    return Counter({
        tuple(series.removeprefix(prefix).removesuffix('"}').split('",outcome="')): int(count)
        for series, count in (await gateway.metrics()).items()
        if series.startswith(prefix)
    })  # fmt: skip
