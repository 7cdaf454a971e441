"""Changes of tables in use, over HTTP."""

from gateway.directory.tokens import new_token
from tests.support.config import TABLE_TOKEN
from tests.support.wire import until

BLOG = "/v1/orgs/acme/apps/blog"
TABLES = f"{BLOG}/services/kvs/tables"


async def _table(gateway, name: str = "posts", app_type: str = "api") -> str:
    await gateway.manage("PUT", BLOG, {"type": app_type})
    return (await gateway.manage("POST", TABLES, {"name": name})).json["token"]


async def test_a_table_is_used_with_the_token_that_its_creation_returned(gateway):
    token = await _table(gateway)
    assert (await gateway.put("k", 1, token=token)).status == 200
    assert (await gateway.get("k", token=token)).json["value"] == 1


async def test_a_suspended_app_is_refused_and_a_resumed_one_finds_its_entries(gateway):
    token = await _table(gateway)
    await gateway.put("k", 1, token=token)
    await gateway.manage("POST", f"{BLOG}/suspend")
    refused = await gateway.get("k", token=token)
    assert (refused.status, refused.json) == (403, {"error": "binding_inactive"})
    await gateway.manage("POST", f"{BLOG}/resume")
    assert (await gateway.get("k", token=token)).json["value"] == 1


async def test_an_app_changed_to_a_type_that_is_not_served_keeps_its_tables_and_is_refused(gateway):
    token = await _table(gateway)
    await gateway.put("k", 1, token=token)
    await gateway.manage("PUT", BLOG, {"type": "web"})
    refused = await gateway.get("k", token=token)
    assert (refused.status, refused.json) == (403, {"error": "unsupported_app_type"})
    assert [table["name"] for table in (await gateway.manage("GET", TABLES)).json] == ["posts"]
    await gateway.manage("PUT", BLOG, {"type": "sse"})
    assert (await gateway.get("k", token=token)).json["value"] == 1


async def test_a_deleted_tables_token_is_refused_and_a_table_of_the_same_name_is_empty(gateway):
    token = await _table(gateway)
    await gateway.put("k", 1, token=token)
    await gateway.manage("DELETE", f"{TABLES}/posts")
    refused = await gateway.get("k", token=token)
    assert (refused.status, refused.json) == (401, {"error": "invalid_token"})
    again = await _table(gateway)
    assert (await gateway.get("k", token=again)).json["found"] is False


async def test_space_of_a_deleted_table_is_given_back_in_the_background(gateway):
    token = await _table(gateway)
    entries = gateway.app.stores.backends[0]._inner.tables
    await gateway.put("k", "v" * 1000, token=token)
    assert entries.used_bytes > 1000
    await gateway.manage("DELETE", f"{TABLES}/posts")
    await until(lambda: entries.used_bytes == 0)


async def test_the_same_key_in_two_tables_does_not_conflict(gateway):
    posts, drafts = await _table(gateway, "posts"), await _table(gateway, "drafts")
    await gateway.put("k", "post", token=posts)
    await gateway.put("k", "draft", token=drafts)
    assert (await gateway.get("k", token=posts)).json["value"] == "post"


async def test_while_the_store_is_down_an_unknown_token_is_503_and_a_malformed_one_401(gateway):
    gateway.faults.fail = {"*"}
    unknown = await gateway.get("k", token=new_token())
    assert (unknown.status, unknown.json) == (503, {"error": "auth_unavailable"})
    assert unknown.headers["Retry-After"] == "1"
    made_up = await gateway.get("k", token="kvs_" + "a" * 49)
    assert (made_up.status, made_up.json) == (401, {"error": "invalid_token"})


async def test_while_the_directory_cannot_be_read_a_known_token_still_works(gateway):
    token = await _table(gateway)
    await gateway.put("k", 1, token=token)
    gateway.faults.fail = {"read"}
    gateway.clock.advance(30_000)
    assert (await gateway.get("k", token=token)).json["value"] == 1


async def test_declared_and_managed_apps_are_served_side_by_side(gateway):
    token = await _table(gateway)
    await gateway.put("k", "managed", token=token)
    await gateway.put("k", "declared", token=TABLE_TOKEN)
    assert (await gateway.get("k", token=token)).json["value"] == "managed"
    assert (await gateway.get("k", token=TABLE_TOKEN)).json["value"] == "declared"
