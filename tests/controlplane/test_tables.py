"""Creating, listing, rotating and deleting tables over HTTP."""

import re

import pytest

from gateway.directory.tokens import is_well_formed
from tests.controlplane.paths import BLOG, DECLARED, DECLARED_TABLES, TABLES
from tests.support.gateway import run_gateway

NOW = "2026-11-20T00:00:00.000Z"


async def _create(gateway, **fields):
    return await gateway.manage("POST", TABLES, {"name": "posts", **fields})


async def test_creating_a_table_returns_table_token_and_runtime_variables(blog):
    reply = await _create(blog)
    assert reply.status == 201
    assert set(reply.json) == {"table", "token", "runtime"}
    assert is_well_formed(reply.json["token"].encode())
    assert reply.json["runtime"] == {
        "SERVICE_KVS_URL": "http://127.0.0.1:8080",
        "SERVICE_KVS_REGION": "eu-central-1",
        "SERVICE_KVS_TOKEN_POSTS": reply.json["token"],
    }


async def test_a_table_is_shown_with_all_its_fields(blog):
    created = (await _create(blog, minute_limit=60)).json
    assert re.fullmatch(r"t2_[0-9a-f]{32}", created["table"].pop("id"))
    assert created["table"] == {
        "org_id": "acme",
        "app_id": "blog",
        "env_id": "production",
        "name": "posts",
        "status": "active",
        "kvs_url": "http://127.0.0.1:8080",
        "env_var_name": "SERVICE_KVS_TOKEN_POSTS",
        "token_last_four": created["token"][-4:],
        "minute_limit": 60,
        "disabled_at": None,
        "created_at": NOW,
        "updated_at": NOW,
    }


async def test_tables_are_listed_as_a_bare_array_in_order_of_creation(blog):
    tables = [(await blog.manage("POST", TABLES, {"name": name})).json["table"] for name in ("b", "a")]
    reply = await blog.manage("GET", TABLES)
    assert (reply.status, reply.json) == (200, tables)


async def test_an_app_without_tables_has_an_empty_array(blog):
    reply = await blog.manage("GET", TABLES)
    assert (reply.status, reply.json) == (200, [])


async def test_listing_never_shows_a_token(blog):
    token = (await _create(blog)).json["token"]
    assert token.encode() not in (await blog.manage("GET", TABLES)).body


async def test_rotating_returns_the_same_three_fields_with_a_new_token(blog):
    created = (await _create(blog)).json
    blog.clock.advance(1500)
    reply = await blog.manage("POST", f"{TABLES}/posts/rotate")
    assert reply.status == 200
    assert set(reply.json) == {"table", "token", "runtime"}
    assert reply.json["token"] != created["token"]
    assert reply.json["runtime"]["SERVICE_KVS_TOKEN_POSTS"] == reply.json["token"]
    last_four = reply.json["token"][-4:]
    assert reply.json["table"] == {
        **created["table"],
        "token_last_four": last_four,
        "updated_at": "2026-11-20T00:00:01.500Z",
    }


async def test_a_rotation_overlaps_as_long_as_requested(blog):
    old = (await _create(blog)).json["token"]
    await blog.manage("POST", f"{TABLES}/posts/rotate", {"overlap_seconds": 60})
    blog.clock.advance(59_999)
    assert (await blog.get("k", token=old)).status == 200
    blog.clock.advance(1)
    assert (await blog.get("k", token=old)).status == 401


@pytest.mark.parametrize(("body", "status"), [(None, 200), ({"overlap_seconds": 0}, 401)])
async def test_the_configured_overlap_is_the_default_and_zero_is_allowed(body, status):
    async with run_gateway({"directory": {"rotation_overlap_seconds": 60}}) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        old = (await _create(gateway)).json["token"]
        await gateway.manage("POST", f"{TABLES}/posts/rotate", body)
        assert (await gateway.get("k", token=old)).status == status


async def test_deleting_a_table_answers_204_without_a_body(blog):
    await _create(blog)
    reply = await blog.manage("DELETE", f"{TABLES}/posts")
    assert (reply.status, reply.body) == (204, b"")
    assert (await blog.manage("GET", TABLES)).json == []


@pytest.mark.parametrize("name", ["posts", "Posts", "POSTS"])
async def test_a_name_that_is_taken_in_upper_case_is_409(blog, name):
    await _create(blog)
    reply = await blog.manage("POST", TABLES, {"name": name})
    assert (reply.status, reply.json) == (409, {"error": "table_exists"})


async def test_a_fourth_table_is_409(blog):
    for name in ("a", "b", "c"):
        await blog.manage("POST", TABLES, {"name": name})
    reply = await _create(blog)
    assert (reply.status, reply.json) == (409, {"error": "table_limit_reached"})


@pytest.mark.parametrize("app_type", ["web", "worker"])
async def test_an_app_of_an_unsupported_type_gets_no_table(gateway, app_type):
    await gateway.manage("PUT", BLOG, {"type": app_type})
    reply = await _create(gateway)
    assert (reply.status, reply.json) == (422, {"error": "unsupported_app_type"})


@pytest.mark.parametrize("app_type", ["api", "web-ssr", "sse"])
async def test_an_app_of_a_supported_type_gets_a_table(gateway, app_type):
    await gateway.manage("PUT", BLOG, {"type": app_type})
    assert (await _create(gateway)).status == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", TABLES), ("POST", TABLES), ("POST", f"{TABLES}/posts/rotate"), ("DELETE", f"{TABLES}/posts")],
)
async def test_tables_of_an_app_that_is_not_registered_are_404(gateway, method, path):
    reply = await gateway.manage(method, path, {"name": "posts"} if method == "POST" else None)
    assert (reply.status, reply.json) == (404, {"error": "app_not_found"})


@pytest.mark.parametrize("name", ["posts", "Posts", "post%73", "a" * 200, "..", "%2e%2e", "*", "%00"])
@pytest.mark.parametrize(("method", "rest"), [("DELETE", ""), ("POST", "/rotate")])
async def test_a_table_that_does_not_exist_is_404(blog, method, rest, name):
    await blog.manage("POST", TABLES, {"name": "other"})
    reply = await blog.manage(method, f"{TABLES}/{name}{rest}")
    assert reply.status == 404
    assert [table["name"] for table in (await blog.manage("GET", TABLES)).json] == ["other"]


async def test_a_tables_name_in_a_path_is_matched_exactly(blog):
    await _create(blog)
    assert (await blog.manage("DELETE", f"{TABLES}/POSTS")).json == {"error": "table_not_found"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", DECLARED_TABLES, {"name": "more"}),
        ("POST", f"{DECLARED_TABLES}/sessions/rotate", None),
        ("DELETE", f"{DECLARED_TABLES}/sessions", None),
        ("PUT", DECLARED, {"type": "api"}),
        ("DELETE", DECLARED, None),
        ("POST", f"{DECLARED}/suspend", None),
        ("POST", f"{DECLARED}/resume", None),
    ],
)
async def test_a_declared_app_is_read_only(gateway, method, path, body):
    reply = await gateway.manage(method, path, body)
    assert (reply.status, reply.json) == (409, {"error": "declared_app"})
    assert (await gateway.put("k", 1)).status == 200


async def test_tables_of_a_declared_app_are_listed(gateway):
    tables = (await gateway.manage("GET", DECLARED_TABLES)).json
    assert [table["name"] for table in tables] == ["sessions", "carts"]
    assert tables[0]["created_at"] is None


async def test_another_environment_of_a_declared_app_can_be_managed(gateway):
    assert (await gateway.manage("PUT", f"{DECLARED}?env=test", {"type": "api"})).status == 201
    assert (await gateway.manage("POST", f"{DECLARED_TABLES}?env=test", {"name": "t"})).status == 201


async def test_the_prefix_of_runtime_variables_is_configurable():
    async with run_gateway({"runtime": {"variable_prefix": "ACME"}}) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        created = (await _create(gateway)).json
        assert set(created["runtime"]) == {"ACME_KVS_URL", "ACME_KVS_REGION", "ACME_KVS_TOKEN_POSTS"}
        assert created["table"]["env_var_name"] == "ACME_KVS_TOKEN_POSTS"


async def test_the_runtime_url_is_the_public_url():
    async with run_gateway({"public_url": "https://kvs.example.com"}) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        created = (await _create(gateway)).json
        assert created["runtime"]["SERVICE_KVS_URL"] == "https://kvs.example.com"
        assert created["table"]["kvs_url"] == "https://kvs.example.com"
