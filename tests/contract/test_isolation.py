"""Every table has a keyspace of its own."""

from itertools import permutations

import pytest

from tests.support.gateway import run_gateway

TABLES = {
    "one table": ("acme", "shop", "production", "sessions"),
    "another of the same app": ("acme", "shop", "production", "carts"),
    "the same name in another environment": ("acme", "shop", "staging", "sessions"),
    "the same name in another app": ("acme", "blog", "production", "sessions"),
    "the same name in another organization": ("apex", "shop", "production", "sessions"),
    "names that run together alike": ("acme", "shop.production", "s", "essions"),
}


def token_of(table: tuple[str, ...]) -> str:
    return "token-" + "-".join(table)


def declared() -> list[dict]:
    apps: dict[tuple[str, ...], dict] = {}
    for org, app, env, name in TABLES.values():
        entry = apps.setdefault(
            (org, app, env), {"org": org, "app": app, "env": env, "type": "api", "tables": []}
        )
        entry["tables"].append({"name": name, "token": token_of((org, app, env, name))})
    return list(apps.values())


@pytest.fixture
async def gateway():
    async with run_gateway({"apps": declared()}) as running:
        yield running


@pytest.mark.parametrize(("mine", "theirs"), list(permutations(TABLES, 2)))
async def test_no_table_sees_changes_or_removes_what_is_in_another(gateway, mine, theirs):
    my_token, their_token = token_of(TABLES[mine]), token_of(TABLES[theirs])
    await gateway.put("k", "theirs", token=their_token)
    assert (await gateway.get("k", token=my_token)).json == {"found": False, "expiresAt": None}
    await gateway.put("k", "mine", token=my_token, ttl_seconds=60)
    await gateway.delete("k", token=my_token)
    reply = await gateway.get("k", token=their_token)
    assert reply.json == {"found": True, "value": "theirs", "expiresAt": None}


@pytest.mark.parametrize("key", ["../carts/k", "carts:k", "carts/k", "\0carts\0k", "{carts}k"])
async def test_no_key_leads_out_of_its_table(gateway, key):
    mine, theirs = list(TABLES.values())[:2]
    await gateway.put("k", "theirs", token=token_of(theirs))
    await gateway.put(key, "mine", token=token_of(mine))
    assert (await gateway.get("k", token=token_of(theirs))).json["value"] == "theirs"
    assert (await gateway.get(key, token=token_of(theirs))).json["found"] is False
