"""Lists show what the caller may see. Hidden items cost little, and no link reveals them."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from gateway.composition.control import cursor_cipher
from gateway.config.loading import parse
from gateway.controlplane.errors import InvalidField
from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment
from tests.controlplane.paths import APPS
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

TOKEN = "the-token-of-the-team"
MOST_STORE_CALLS = 8
"""Includes the calls of background work."""


async def running_with(gateway_changes, orgs=(), apps=()):
    entry = {"name": "team", "token": TOKEN, "allow": ["read"], "orgs": [*orgs], "apps": [*apps]}
    return run_gateway({"control": {"tokens": [CONTROL_TOKEN, entry]}, **gateway_changes})


def declared(*names):
    places = [name.split("/") for name in names]
    return {"apps": [{"org": org, "app": app, "env": "production", "type": "api"} for org, app in places]}


async def store(gateway, org, apps):
    for app in apps:
        record = AppRecord(environment=Environment(org, app, "production"), type="api", active=True)
        await gateway.app.stores.records.swap(app_name(record.environment), encode(record), None)


async def pages(gateway, path):
    """Collects the ids of each page, and the cursors of the links."""
    found, places = [], []
    while path:
        reply = await gateway.manage("GET", path, token=TOKEN)
        assert reply.status == 200
        found.append([each.get("app_id", each.get("id")) for each in reply.json])
        link = re.fullmatch(r'<(/[^>]+)>; rel="next"', reply.headers.get("Link", ""))
        path = link[1] if link else ""
        if link:
            places += parse_qs(urlsplit(path).query)["after"]
    return found, places


def joined(found):
    return [each for page in found for each in page]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_all_pages_together_list_the_visible_apps(limit):
    names = [f"acme/{app}" for app in ("blog", "shop-a", "shop-b", "wiki", "shop-c")]
    async with await running_with(declared(*names), apps=["shop-*"]) as gateway:
        await store(gateway, "acme", ["a", "shop-ab", "z"])
        found, _ = await pages(gateway, f"{APPS}?limit={limit}")
    assert joined(found) == ["shop-a", "shop-ab", "shop-b", "shop-c"]
    assert all(len(page) == limit for page in found[:-1])


async def test_a_page_of_hidden_apps_costs_a_bounded_number_of_store_calls():
    async with await running_with(declared(), apps=["zz*"]) as gateway:
        await store(gateway, "acme", [f"a{number:05d}" for number in range(8000)] + ["zz-1"])
        before = gateway.faults.count("page")
        first = await gateway.manage("GET", f"{APPS}?limit=5", token=TOKEN)
        assert gateway.faults.count("page") - before <= MOST_STORE_CALLS
        assert (first.json, "Link" in first.headers) == ([], True)
        found, places = await pages(gateway, f"{APPS}?limit=5")
    assert joined(found) == ["zz-1"]
    assert places
    assert len({len(cursor) for cursor in places}) == 1


async def test_no_link_reveals_a_hidden_name():
    async with await running_with(declared(), apps=["zz*"]) as gateway:
        await store(gateway, "acme", [f"hidden{number:05d}" for number in range(4000)] + ["zz-1"])
        _, places = await pages(gateway, f"{APPS}?limit=1")
    assert places
    assert all(cursor.startswith("~") and "hidden" not in cursor for cursor in places)


async def test_a_cursor_is_bound_to_its_list_and_tamper_proof():
    async with await running_with(declared(), apps=["zz*"]) as gateway:
        await store(gateway, "acme", [f"hidden{number:05d}" for number in range(4000)])
        (_, (cursor, *_)) = await pages(gateway, f"{APPS}?limit=1")
        changed = cursor[:-5] + ("A" if cursor[-5] != "A" else "B") + cursor[-4:]
        for path in (f"/v1/orgs/other/apps?after={cursor}", f"{APPS}?after={changed}", f"{APPS}?after=~A"):
            reply = await gateway.manage("GET", path, token=TOKEN)
            assert (reply.status, reply.error) == (422, "invalid_after")


@pytest.mark.parametrize("limit", [1, 2, 1000])
async def test_hidden_organizations_are_left_out(limit):
    names = [f"{org}/a" for org in ("acme", "other", "team-1", "team-3")]
    async with await running_with(declared(*names), orgs=["team-*"]) as gateway:
        await store(gateway, "team-2", ["a"])
        await store(gateway, "hidden", ["a"])
        found, _ = await pages(gateway, f"/v1/orgs?limit={limit}")
    assert joined(found) == ["team-1", "team-2", "team-3"]


async def test_paging_continues_after_many_hidden_organizations():
    names = [f"{org}/a" for org in ("aa-team", "m-team", "zz-team")]
    async with await running_with(declared(*names), orgs=["*-team"]) as gateway:
        for number in range(150):
            await store(gateway, f"b{number:03d}", [f"{app:02d}" for app in range(51)])
        await store(gateway, "n-team", ["a"])
        before = gateway.faults.count("page")
        first = await gateway.manage("GET", "/v1/orgs?limit=10", token=TOKEN)
        assert gateway.faults.count("page") - before <= 100 + MOST_STORE_CALLS
        assert [org["id"] for org in first.json] == ["aa-team"]
        found, places = await pages(gateway, "/v1/orgs?limit=10")
    assert joined(found) == ["aa-team", "m-team", "n-team", "zz-team"]
    assert all(cursor.startswith("~") for cursor in places)


SECRETS = {
    "a control token": {"control": {"tokens": ["a-control-token-of-some-length"]}},
    "a master key": {"credentials": {"session": {"master_keys": ["a-master-key-of-at-least-32-characters"]}}},
    "a secret of the proxy": {"credentials": {"trusted_proxy": {"secret": "a-secret-of-the-proxy"}}},
    "a static key": {
        "credentials": {
            "static": [{"access_key_id": "AKID", "secret_access_key": "a-secret-access-key", "role": ROLE}]
        }
    },
}


def settings_with(control=None, credentials=None):
    signature = {"approved_roles": [ROLE], "credentials": credentials or {}}
    text = yaml.safe_dump({"region": "x", "control": control or {}, "signature": signature})
    return parse(text, {})


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_replicas_with_the_same_secrets_share_cursors(secret):
    cursor = cursor_cipher(settings_with(**secret)).encrypt("/v1/orgs", "hidden")
    assert cursor_cipher(settings_with(**secret)).decrypt("/v1/orgs", cursor) == "hidden"
    with pytest.raises(InvalidField):
        cursor_cipher(settings_with()).decrypt("/v1/orgs", cursor)


@pytest.mark.parametrize("credentials", [{}, {"trusted_proxy": {"networks": ["10.0.0.0/8"]}}])
def test_without_secrets_no_other_replica_decrypts_a_cursor(credentials):
    """Any reader of the file could otherwise derive the key."""
    cursor = cursor_cipher(settings_with(credentials=credentials)).encrypt("/v1/orgs", "hidden")
    with pytest.raises(InvalidField):
        cursor_cipher(settings_with(credentials=credentials)).decrypt("/v1/orgs", cursor)
