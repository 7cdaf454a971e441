"""Registering, showing, listing, suspending, resuming and removing apps over HTTP."""

import pytest

from tests.controlplane.paths import APPS, BLOG, DECLARED, TABLES

APP = {
    "id": "blog",
    "name": "blog",
    "org_id": "acme",
    "app_id": "blog",
    "env_id": "production",
    "type": "api",
    "status": "inactive",
    "requests_per_minute": 600,
    "max_tables": 3,
    "max_bytes": None,
}


async def test_a_new_app_is_201_and_shown_with_all_its_fields(gateway):
    reply = await gateway.manage("PUT", BLOG, {"type": "api"})
    assert (reply.status, reply.json) == (201, APP)


async def test_a_changed_app_is_200(blog):
    changed = {"type": "sse", "requests_per_minute": 60, "max_tables": 1, "max_bytes": 1000}
    reply = await blog.manage("PUT", BLOG, changed)
    assert (reply.status, reply.json) == (200, {**APP, **changed})


async def test_an_app_is_shown_as_it_was_registered(blog):
    reply = await blog.manage("GET", BLOG)
    assert (reply.status, reply.json) == (200, APP)


async def test_the_first_table_activates_an_app(blog):
    await blog.manage("POST", TABLES, {"name": "posts"})
    assert (await blog.manage("GET", BLOG)).json["status"] == "active"


@pytest.mark.parametrize(("call", "status"), [("suspend", "inactive"), ("resume", "active")])
async def test_suspending_and_resuming_answer_with_the_app(blog, call, status):
    await blog.manage("POST", TABLES, {"name": "posts"})
    for _ in range(2):
        reply = await blog.manage("POST", f"{BLOG}/{call}")
        assert (reply.status, reply.json) == (200, {**APP, "status": status})


async def test_removing_an_app_removes_its_tables(blog):
    token = (await blog.manage("POST", TABLES, {"name": "posts"})).json["token"]
    reply = await blog.manage("DELETE", BLOG)
    assert (reply.status, reply.body) == (204, b"")
    assert (await blog.manage("GET", BLOG)).json == {"error": "app_not_found"}
    assert (await blog.get("k", token=token)).status == 401


async def test_an_app_registered_again_starts_over(blog):
    await blog.manage("POST", TABLES, {"name": "posts"})
    await blog.manage("POST", f"{BLOG}/suspend")
    await blog.manage("DELETE", BLOG)
    assert (await blog.manage("PUT", BLOG, {"type": "api"})).status == 201
    assert (await blog.manage("GET", TABLES)).json == []


async def test_all_apps_are_listed_as_a_bare_array(blog):
    listed = (await blog.manage("GET", APPS)).json
    assert [(app["app_id"], app["status"]) for app in listed] == [("blog", "inactive"), ("shop", "active")]


async def test_every_environment_of_an_app_is_listed(blog):
    await blog.manage("PUT", f"{BLOG}?env=test", {"type": "api"})
    listed = (await blog.manage("GET", APPS)).json
    assert [app["env_id"] for app in listed if app["app_id"] == "blog"] == ["production", "test"]


@pytest.mark.parametrize("org", ["acm", "acme2", "ACME", "other"])
async def test_another_organizations_apps_are_not_listed(blog, org):
    assert (await blog.manage("GET", f"/v1/orgs/{org}/apps")).json == []


async def test_a_declared_app_is_shown(gateway):
    shown = (await gateway.manage("GET", DECLARED)).json
    assert (shown["app_id"], shown["status"], shown["type"]) == ("shop", "active", "api")


@pytest.mark.parametrize(
    ("method", "rest"), [("GET", ""), ("DELETE", ""), ("POST", "/suspend"), ("POST", "/resume")]
)
async def test_an_app_that_is_not_registered_is_404(gateway, method, rest):
    reply = await gateway.manage(method, BLOG + rest)
    assert (reply.status, reply.json) == (404, {"error": "app_not_found"})


async def test_the_environment_defaults_to_production(blog):
    assert (await blog.manage("GET", f"{BLOG}?env=production")).status == 200
    assert (await blog.manage("GET", f"{BLOG}?env=test")).status == 404


@pytest.mark.parametrize("limit", [1, 5, 700])
async def test_the_rate_limit_of_an_app_is_the_one_it_was_registered_with(blog, limit):
    await blog.manage("PUT", BLOG, {"type": "api", "requests_per_minute": limit})
    token = (await blog.manage("POST", TABLES, {"name": "posts"})).json["token"]
    statuses = [(await blog.get("k", token=token)).status for _ in range(min(limit, 10) + 1)]
    assert statuses.count(200) == min(limit, 11)


async def test_a_tables_own_limit_is_charged_beside_the_apps(blog):
    token = (await blog.manage("POST", TABLES, {"name": "posts", "minute_limit": 2})).json["token"]
    assert [(await blog.get("k", token=token)).status for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("query", ["environment=staging", "ENV=staging", "env=staging&dry=1", "x"])
async def test_an_unknown_parameter_changes_nothing(blog, query):
    reply = await blog.manage("DELETE", f"{BLOG}?{query}")
    assert (reply.status, reply.json) == (422, {"error": "unknown_parameter"})
    assert (await blog.manage("GET", BLOG)).status == 200
