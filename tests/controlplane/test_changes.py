"""PATCH changes the given fields of an app or a table and nothing else."""

import asyncio

import pytest

from tests.controlplane.paths import BLOG, DECLARED, DECLARED_TABLES, TABLES
from tests.support.gateway import run_gateway

LIMITS = {"requests_per_minute": 50, "max_tables": 2, "max_bytes": 1000}
DEFAULTS = {"requests_per_minute": 600, "max_tables": 3, "max_bytes": None}
POSTS = f"{TABLES}/posts"


@pytest.fixture
async def limited(blog):
    """The blog app with its own limits, and a table with its own limit."""
    await blog.manage("PUT", BLOG, {"type": "api", **LIMITS})
    await blog.manage("POST", TABLES, {"name": "posts", "minute_limit": 20})
    return blog


@pytest.mark.parametrize(
    "named",
    [
        {"type": "sse"},
        {"requests_per_minute": 70},
        {"max_tables": 5},
        {"max_bytes": 1},
        {"type": "web", "max_tables": 0},
        {},
        {"type": "sse", "status": "inactive", "org_id": "other"},
    ],
    ids=str,
)
async def test_patch_changes_the_given_fields_of_an_app_only(limited, named):
    before = (await limited.manage("GET", BLOG)).json
    reply = await limited.manage("PATCH", BLOG, named)
    known = {field: value for field, value in named.items() if field in ("type", *LIMITS)}
    assert (reply.status, reply.json) == (200, {**before, **known})
    assert (await limited.manage("GET", BLOG)).json == reply.json


@pytest.mark.parametrize(("field", "default"), DEFAULTS.items())
async def test_null_resets_a_limit_of_an_app_to_the_default(limited, field, default):
    reply = await limited.manage("PATCH", BLOG, {field: None})
    assert {name: reply.json[name] for name in LIMITS} == {**LIMITS, field: default}


async def test_put_resets_omitted_fields_to_the_defaults(limited):
    reply = await limited.manage("PUT", BLOG, {"type": "api"})
    assert {name: reply.json[name] for name in LIMITS} == DEFAULTS


async def test_a_changed_app_keeps_its_tables_tokens_and_suspension(limited):
    token = (await limited.manage("POST", f"{POSTS}/rotate")).json["token"]
    await limited.manage("POST", f"{BLOG}/suspend")
    assert (await limited.manage("PATCH", BLOG, {"max_tables": 1})).json["status"] == "inactive"
    await limited.manage("POST", f"{BLOG}/resume")
    assert (await limited.get("k", token=token)).status == 200


async def test_changes_of_different_fields_at_the_same_time_are_all_kept(limited):
    changes = [{"type": "sse"}, {"requests_per_minute": 7}, {"max_tables": 9}, {"max_bytes": 5}]
    await asyncio.gather(*(limited.manage("PATCH", BLOG, change) for change in changes))
    shown = (await limited.manage("GET", BLOG)).json
    assert [shown[field] for field in ("type", *LIMITS)] == ["sse", 7, 9, 5]


async def test_a_changed_app_limit_takes_effect_immediately(limited):
    token = (await limited.manage("POST", f"{POSTS}/rotate")).json["token"]
    await limited.manage("PATCH", BLOG, {"requests_per_minute": 2})
    assert [(await limited.get("k", token=token)).status for _ in range(3)] == [200, 200, 429]


async def test_a_single_table_is_shown_as_in_the_list(limited):
    reply = await limited.manage("GET", POSTS)
    assert (reply.status, [reply.json]) == (200, (await limited.manage("GET", TABLES)).json)


async def test_a_table_of_a_declared_app_is_shown(gateway):
    reply = await gateway.manage("GET", f"{DECLARED_TABLES}/sessions")
    assert (reply.status, reply.json["name"]) == (200, "sessions")


async def test_a_changed_table_has_the_new_limit_and_the_time_of_the_change(limited):
    before = (await limited.manage("GET", POSTS)).json
    limited.clock.advance(1500)
    reply = await limited.manage("PATCH", POSTS, {"minute_limit": 5})
    changed = {"minute_limit": 5, "updated_at": "2026-11-20T00:00:01.500Z"}
    assert (reply.status, reply.json) == (200, {**before, **changed})


async def test_a_changed_table_limit_takes_effect_immediately(limited):
    token = (await limited.manage("POST", f"{POSTS}/rotate")).json["token"]
    await limited.manage("PATCH", POSTS, {"minute_limit": 2})
    assert [(await limited.get("k", token=token)).status for _ in range(3)] == [200, 200, 429]


async def test_null_removes_the_limit_of_a_table(limited):
    assert (await limited.manage("PATCH", POSTS, {"minute_limit": None})).json["minute_limit"] == 50


async def test_an_empty_change_keeps_the_limit_of_a_table(limited):
    assert (await limited.manage("PATCH", POSTS, {})).json["minute_limit"] == 20


@pytest.mark.parametrize(
    ("own", "of_the_app", "in_effect"), [(20, 50, 20), (80, 50, 50), (None, 50, 50), (None, None, 600)]
)
async def test_a_table_shows_its_effective_limit_as_a_number(limited, own, of_the_app, in_effect):
    await limited.manage("PATCH", BLOG, {"requests_per_minute": of_the_app})
    assert (await limited.manage("PATCH", POSTS, {"minute_limit": own})).json["minute_limit"] == in_effect


async def test_a_table_without_a_limit_shows_the_configured_one():
    async with run_gateway({"rate_limit": {"requests_per_minute": 42}}) as gateway:
        tables = (await gateway.manage("GET", DECLARED_TABLES)).json
        assert [table["minute_limit"] for table in tables] == [42, 42]


@pytest.mark.parametrize(
    ("path", "named", "code"),
    [
        (BLOG, {"type": None}, "invalid_type"),
        (BLOG, {"type": "API"}, "invalid_type"),
        (BLOG, {"requests_per_minute": 0}, "invalid_requests_per_minute"),
        (BLOG, {"type": "sse", "max_tables": "1"}, "invalid_max_tables"),
        (POSTS, {"minute_limit": True}, "invalid_minute_limit"),
        (f"{BLOG}?dry=1", {"type": "sse"}, "unknown_parameter"),
    ],
)
async def test_a_refused_change_changes_nothing(limited, path, named, code):
    before = [(await limited.manage("GET", each)).json for each in (BLOG, POSTS)]
    reply = await limited.manage("PATCH", path, named)
    assert (reply.status, reply.error) == (422, code)
    assert [(await limited.manage("GET", each)).json for each in (BLOG, POSTS)] == before


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("PATCH", f"{BLOG}?env=test", "app_not_found"),
        ("PATCH", f"{POSTS}?env=test", "app_not_found"),
        ("GET", f"{POSTS}?env=test", "app_not_found"),
        ("GET", f"{TABLES}/POSTS", "table_not_found"),
        ("PATCH", f"{TABLES}/POSTS", "table_not_found"),
    ],
)
async def test_changing_a_missing_app_or_table_creates_nothing(limited, method, path, code):
    reply = await limited.manage(method, path, {"type": "api"} if method == "PATCH" else None)
    assert (reply.status, reply.error) == (404, code)


@pytest.mark.parametrize("path", [DECLARED, f"{DECLARED_TABLES}/sessions"])
async def test_declared_apps_and_tables_cannot_be_changed(gateway, path):
    reply = await gateway.manage("PATCH", path, {"minute_limit": 1, "type": "sse"})
    assert (reply.status, reply.error) == (409, "declared_app")
