"""Each field is checked for type and range and has its own code."""

import pytest

from tests.controlplane.paths import BLOG, CREDENTIALS, TABLES
from tests.support.config import ROLE

NOT_INTEGERS = [True, False, 1.0, "1", [], {}, 10**30, -(10**30), 1e300]
FIELDS = {
    "minute_limit": ("POST", TABLES, {"name": "posts"}, (1, 1_000_000_000)),
    "requests_per_minute": ("PUT", BLOG, {"type": "api"}, (1, 1_000_000_000)),
    "max_tables": ("PUT", BLOG, {"type": "api"}, (0, 1000)),
    "max_bytes": ("PUT", BLOG, {"type": "api"}, (1, 9_007_199_254_740_991)),
    "overlap_seconds": ("POST", f"{TABLES}/first/rotate", {}, (0, 2_592_000)),
    "ttl_seconds": ("POST", CREDENTIALS, {"role": ROLE}, (1, 43_200)),
}
CODES = {"ttl_seconds": "invalid_ttl"}
OUTSIDE = [
    (field, value)
    for field, (_, _, _, (lowest, highest)) in FIELDS.items()
    for value in (lowest - 1, highest + 1, -1, *NOT_INTEGERS)
]
INSIDE = [(field, end) for field, (_, _, _, ends) in FIELDS.items() for end in (*ends, None)]
NAMES = ["", " ", "a b", "a-b", "a.b", "ä", "a\n", "\u0000", "a" * 33, None, 1, True, ["a"], {"a": 1}, "٣"]
TYPES = ["", "API", "a b", "-api", "1", "a" * 33, "api\n", None, 1, True, ["api"]]
ENVS = ["", ".", "..", ".a", "-a", "a%20b", "a%2Fb", "a" * 65, "%00", "%FF", "a&env=b", "a%0A", "%C3%A4"]
BODIES = [b"{", b"[]", b"null", b'"x"', b"1", b"{'name': 'a'}", b'{"name": "a",}', b"\xff", b'{"name": NaN}']
BODIES += [b'\xef\xbb\xbf{"name": "a"}', b"[" * 60_000, b'{"a":' * 10_000]
UNUSUAL = ["a", "1", "a" * 64, "a.b-c_d", "A"]


@pytest.fixture
async def table(blog):
    """The blog app with one table."""
    await blog.manage("POST", TABLES, {"name": "first"})
    return blog


@pytest.mark.parametrize(("field", "value"), OUTSIDE)
async def test_a_number_out_of_range_or_of_another_type_is_422(table, field, value):
    method, path, body, _ = FIELDS[field]
    reply = await table.manage(method, path, {**body, field: value})
    assert (reply.status, reply.json) == (422, {"error": CODES.get(field, f"invalid_{field}")})


@pytest.mark.parametrize(("field", "value"), INSIDE)
async def test_a_number_at_the_end_of_its_range_or_null_is_accepted(table, field, value):
    method, path, body, _ = FIELDS[field]
    reply = await table.manage(method, path, {**body, field: value})
    assert reply.status in (200, 201)


@pytest.mark.parametrize("name", NAMES)
async def test_a_malformed_table_name_is_422(blog, name):
    reply = await blog.manage("POST", TABLES, {"name": name})
    assert (reply.status, reply.json) == (422, {"error": "invalid_name"})


async def test_a_missing_table_name_is_422(blog):
    assert (await blog.manage("POST", TABLES, {})).json == {"error": "invalid_name"}


@pytest.mark.parametrize("name", ["a", "A", "_", "9", "a" * 32, "Table_9"])
async def test_the_shortest_and_longest_table_names_are_accepted(blog, name):
    created = (await blog.manage("POST", TABLES, {"name": name})).json
    assert created["table"]["name"] == name
    assert created["table"]["env_var_name"] == f"SERVICE_KVS_TOKEN_{name.upper()}"


@pytest.mark.parametrize("app_type", TYPES)
async def test_a_malformed_app_type_is_422(gateway, app_type):
    reply = await gateway.manage("PUT", BLOG, {"type": app_type})
    assert (reply.status, reply.json) == (422, {"error": "invalid_type"})


async def test_a_missing_app_type_is_422(gateway):
    assert (await gateway.manage("PUT", BLOG, {})).json == {"error": "invalid_type"}


@pytest.mark.parametrize("env", ENVS)
async def test_a_malformed_environment_is_422(gateway, env):
    reply = await gateway.manage("PUT", f"{BLOG}?env={env}", {"type": "api"})
    assert (reply.status, reply.json) == (422, {"error": "invalid_name"})


@pytest.mark.parametrize("name", UNUSUAL)
async def test_an_unusual_name_is_accepted_for_org_app_and_env(gateway, name):
    path = f"/v1/orgs/{name}/apps/{name}?env={name}"
    shown = (await gateway.manage("PUT", path, {"type": "api"})).json
    assert (shown["org_id"], shown["app_id"], shown["env_id"]) == (name, name, name)
    assert (await gateway.manage("GET", path)).status == 200


async def test_unknown_fields_are_ignored(blog):
    assert (await blog.manage("PUT", BLOG, {"type": "api", "owner": "me", "status": "active"})).status == 200
    assert (await blog.manage("POST", TABLES, {"name": "posts", "token": "mine"})).json["token"] != "mine"


async def test_a_refused_field_changes_nothing(blog):
    await blog.manage("PUT", BLOG, {"type": "sse", "max_tables": -1})
    assert (await blog.manage("GET", BLOG)).json["type"] == "api"


@pytest.mark.parametrize(
    "body",
    BODIES,
)
async def test_a_body_that_is_not_a_json_object_is_400(blog, body):
    reply = await blog.manage("POST", TABLES, body)
    assert (reply.status, reply.json) == (400, {"error": "invalid_json"})


async def test_an_empty_body_is_an_empty_object(blog):
    await blog.manage("POST", TABLES, {"name": "posts"})
    assert (await blog.manage("POST", f"{TABLES}/posts/rotate", b"")).status == 200


async def test_the_last_of_repeated_fields_counts(blog):
    created = await blog.manage("POST", TABLES, b'{"name": "one", "name": "two"}')
    assert created.json["table"]["name"] == "two"


async def test_a_body_that_is_too_large_is_413(blog):
    reply = await blog.manage("POST", TABLES, {"name": "posts", "note": "x" * 70_000})
    assert (reply.status, reply.json) == (413, {"error": "body_too_large"})
