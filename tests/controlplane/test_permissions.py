"""Permissions and scopes of callers. A refusal does not depend on what exists."""

import json

import pytest

from gateway.observability.logs import JsonFormatter
from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, DECLARED, TABLES
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

WHOAMI = "/v1/whoami"
READ, CHANGE_TABLES, CHANGE_APPS, ISSUE = "read", "tables", "apps", "credentials"
CALLS = [
    ("GET", "/v1/orgs", None, READ),
    ("GET", "/v1/health", None, READ),
    ("GET", APPS, None, READ),
    ("GET", BLOG, None, READ),
    ("GET", TABLES, None, READ),
    ("GET", f"{BLOG}/usage", None, READ),
    ("POST", TABLES, {"name": "posts"}, CHANGE_TABLES),
    ("GET", f"{TABLES}/posts", None, READ),
    ("GET", f"{TABLES}/posts/stats", None, READ),
    ("PATCH", f"{TABLES}/posts", {"minute_limit": 5}, CHANGE_TABLES),
    ("POST", f"{TABLES}/posts/rotate", None, CHANGE_TABLES),
    ("POST", f"{TABLES}/posts/upgrade", None, CHANGE_TABLES),
    ("DELETE", f"{TABLES}/posts", None, CHANGE_TABLES),
    ("PUT", BLOG, {"type": "api"}, CHANGE_APPS),
    ("PATCH", BLOG, {"max_tables": 3}, CHANGE_APPS),
    ("POST", f"{BLOG}/suspend", None, CHANGE_APPS),
    ("POST", f"{BLOG}/resume", None, CHANGE_APPS),
    ("DELETE", BLOG, None, CHANGE_APPS),
    ("POST", CREDENTIALS, {"role": ROLE, "org": "acme", "app": "blog", "env": "production"}, ISSUE),
]
OF_PATHS = [call for call in CALLS if call[1] not in ("/v1/orgs", "/v1/health", CREDENTIALS)]


def bearer(allow, orgs=(), apps=(), name="shop-team"):
    return {"name": name, "token": f"the-token-of-{name}", "allow": allow, "orgs": [*orgs], "apps": [*apps]}


def running(*bearers):
    return run_gateway({"control": {"tokens": [CONTROL_TOKEN, *bearers]}})


async def ask(gateway, call, entry):
    method, path, body, _ = call
    return await gateway.manage(method, path, body, token=entry["token"])


@pytest.mark.parametrize("permission", [READ, CHANGE_TABLES, CHANGE_APPS, ISSUE])
async def test_a_permission_allows_its_own_calls_only(permission):
    entry = bearer([permission])
    async with running(entry) as gateway:
        for call in CALLS:
            await gateway.manage("PUT", BLOG, {"type": "api"})
            reply = await ask(gateway, call, entry)
            assert (reply.error == "not_allowed" if reply.status == 403 else True) is True
            assert (reply.status == 403) == (call[3] != permission), call


OUTSIDE = [(call, {"orgs": ["other"]}) for call in OF_PATHS]
OUTSIDE += [(call, {"apps": ["shop-*"]}) for call in OF_PATHS if call[1] != APPS]


@pytest.mark.parametrize(("call", "scope"), OUTSIDE)
async def test_a_refusal_out_of_scope_does_not_depend_on_what_exists(call, scope):
    entry = bearer("all", **scope)
    async with running(entry) as gateway:
        missing = await ask(gateway, call, entry)
        assert not [name for _, name in gateway.faults.calls if name.startswith("app/acme")]
        await gateway.manage("PUT", BLOG, {"type": "api"})
        await gateway.manage("POST", TABLES, {"name": "posts"})
        present = await ask(gateway, call, entry)
        assert (
            (missing.status, missing.body)
            == (present.status, present.body)
            == (403, b'{"error":"not_allowed"}')
        )


async def test_a_declared_app_out_of_scope_looks_like_a_missing_one():
    entry = bearer("all", apps=["blog"])
    async with running(entry) as gateway:
        for path in (DECLARED, f"{APPS}/nothing"):
            assert (await gateway.manage("DELETE", path, token=entry["token"])).error == "not_allowed"


async def test_a_token_uses_its_permissions_within_its_scope():
    entry = bearer([CHANGE_APPS, CHANGE_TABLES], orgs=["acme"], apps=["blog*"])
    async with running(entry) as gateway:
        assert (await gateway.manage("PUT", BLOG, {"type": "api"}, token=entry["token"])).status == 201
        assert (await gateway.manage("POST", TABLES, {"name": "t"}, token=entry["token"])).status == 201
        assert (await gateway.manage("GET", BLOG, token=entry["token"])).status == 403


CREDENTIAL_FIELDS = [
    ({"org": "acme", "app": "blog", "env": "production"}, 200),
    ({"org": "acme", "app": "other", "env": "production"}, 403),
    ({"org": "other", "app": "blog", "env": "production"}, 403),
    ({}, 403),
    ({"org": None, "app": None, "env": None}, 403),
    ({"org": ["acme"], "app": "blog", "env": "production"}, 403),
]


@pytest.mark.parametrize(("fields", "status"), CREDENTIAL_FIELDS)
async def test_a_scoped_token_issues_credentials_for_its_own_apps_only(fields, status):
    entry = bearer([ISSUE], orgs=["acme"], apps=["blog"])
    async with running(entry) as gateway:
        reply = await gateway.manage("POST", CREDENTIALS, {"role": ROLE, **fields}, token=entry["token"])
        assert reply.status == status


async def test_unknown_paths_and_methods_are_reported_without_any_permission():
    entry = bearer([READ], orgs=["other"])
    async with running(entry) as gateway:
        assert (await gateway.manage("GET", "/v1/nothing", token=entry["token"])).status == 404
        assert (await gateway.manage("PATCH", TABLES, token=entry["token"])).status == 405


async def test_whoami_shows_name_permissions_and_scope():
    entry = bearer([READ, CHANGE_TABLES], orgs=["acme"], apps=["shop-*"])
    async with running(entry) as gateway:
        grant = {"allow": [READ, CHANGE_TABLES], "orgs": ["acme"], "apps": ["shop-*"]}
        reply = await gateway.manage("GET", WHOAMI, token=entry["token"])
        assert (reply.status, reply.json) == (
            200, {"name": "shop-team", "issuer": None, **grant, "grants": [grant]}
        )  # fmt: skip
        plain = (await gateway.manage("GET", WHOAMI)).json
        everything = [READ, CHANGE_TABLES, CHANGE_APPS, ISSUE]
        assert (plain["name"], plain["allow"], plain["orgs"]) == ("token-1", everything, [])
        assert (await gateway.manage("GET", WHOAMI, token="wrong")).status == 401


async def test_a_change_and_a_refused_one_name_their_actor(caplog):
    entry = bearer([CHANGE_APPS])
    async with running(entry) as gateway:
        caplog.clear()
        await gateway.manage("PUT", BLOG, {"type": "api"}, token=entry["token"])
        await gateway.manage("POST", TABLES, {"name": "t"}, token=entry["token"])
        counted = await gateway.metrics()
    lines = [json.loads(JsonFormatter().format(each)) for each in caplog.records if each.name == "kvs.audit"]
    assert [(line["actor"], line["outcome"], line.get("code")) for line in lines] == [
        ("shop-team", "done", None),
        ("shop-team", "refused", "not_allowed"),
    ]
    assert counted['kvs_control_requests_total{action="table.create",outcome="refused"}'] == 1


async def test_a_reload_replaces_permissions_immediately(tmp_path):
    entry = bearer([READ])
    async with watching(tmp_path, control={"tokens": [entry]}) as watched:
        gateway = watched.gateway
        assert (await gateway.manage("PUT", BLOG, {"type": "api"}, token=entry["token"])).status == 403
        await watched.reload(control={"tokens": [{**entry, "allow": [CHANGE_APPS]}]})
        assert (await gateway.manage("PUT", BLOG, {"type": "api"}, token=entry["token"])).status == 201
        assert (await gateway.manage("GET", BLOG, token=entry["token"])).status == 403


async def test_every_action_but_whoami_needs_a_permission(gateway):
    routes = gateway.app.control.handler.router.routes
    actions = {action.name: action.needs for _, methods in routes for action in methods.values()}
    assert [name for name, needs in actions.items() if needs is None] == ["caller.show"]
