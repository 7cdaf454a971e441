"""Paged lists of organizations and apps, in one order, declared and managed."""

import re
from urllib.parse import urlsplit

import pytest

from tests.support.gateway import run_gateway

APPS = "/v1/orgs/acme/apps"


def joined(found: list[list]) -> list:
    return [each for page in found for each in page]


async def pages(gateway, path: str) -> list[list]:
    """Follows the links and returns the bodies of all pages."""
    found = []
    while path:
        reply = await gateway.manage("GET", path)
        assert reply.status == 200
        found.append(reply.json)
        link = re.fullmatch(r'<(/[^>]+)>; rel="next"', reply.headers.get("Link", ""))
        path = link[1] if link else ""
    return found


def declared(*names: str) -> dict:
    places = [name.split("/") for name in names]
    return {"apps": [{"org": org, "app": app, "env": env, "type": "api"} for org, app, env in places]}


@pytest.fixture
async def many(request):
    """Seven apps of acme (declared, managed, one both), and two other organizations."""
    names = ("acme/b/production", "acme/d/test", "acme/both/production", "zeta/x/production")
    async with run_gateway(declared(*names)) as gateway:
        for org, app, env in (
            ("acme", "a", "production"),
            ("acme", "b-2", "production"),
            ("acme", "d", "production"),
            ("acme", "e", "production"),
            ("acme-2", "y", "production"),
        ):
            place = f"/v1/orgs/{org}/apps/{app}?env={env}"
            assert (await gateway.manage("PUT", place, {"type": "api"})).status == 201
        await gateway.app.stores.records.swap("app/acme/both/production", b"{}", None)
        yield gateway


def names_of(apps: list[dict]) -> list[str]:
    return [f"{app['app_id']}/{app['env_id']}" for app in apps]


ALL = [
    *("a/production", "b-2/production", "b/production", "both/production"),
    *("d/production", "d/test", "e/production"),
]


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8, 1000])
async def test_all_pages_together_list_every_app_in_order(many, limit):
    found = await pages(many, f"{APPS}?limit={limit}")
    assert names_of(joined(found)) == ALL
    assert all(len(page) == limit for page in found[:-1])
    assert len(found[-1]) in range(1, limit + 1)


async def test_a_page_has_100_apps_by_default():
    names = [f"acme/app{number:03d}/production" for number in range(101)]
    async with run_gateway(declared(*names)) as gateway:
        assert [len(page) for page in await pages(gateway, APPS)] == [100, 1]


async def test_the_link_keeps_the_limit_and_stays_on_this_listener(many):
    link = (await many.manage("GET", f"{APPS}?limit=3")).headers["Link"]
    assert link == f'<{APPS}?limit=3&after=b%2Fproduction>; rel="next"'
    assert urlsplit(link[1 : link.index(">")]).netloc == ""


async def test_the_last_page_has_no_link(many):
    assert "Link" not in (await many.manage("GET", f"{APPS}?limit=7")).headers


@pytest.mark.parametrize(
    ("after", "first"),
    [("d/production", "d/test"), ("d/q", "d/test"), ("d", "e/production"), ("b", "both/production")],
)
async def test_a_page_starts_after_an_app_or_one_of_its_environments(many, after, first):
    listed = (await many.manage("GET", f"{APPS}?after={after}")).json
    assert names_of(listed)[0] == first


async def test_a_page_after_a_removed_app_continues_at_its_position(many):
    await many.manage("DELETE", "/v1/orgs/acme/apps/b-2")
    assert names_of((await many.manage("GET", f"{APPS}?after=b-2/production")).json)[0] == "b/production"


@pytest.mark.parametrize("path", [APPS, "/v1/orgs"])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "invalid_limit"),
        ("limit=1001", "invalid_limit"),
        ("limit=", "invalid_limit"),
        ("limit=1e2", "invalid_limit"),
        ("limit=1&limit=2", "invalid_limit"),
        ("after=", "invalid_after"),
        ("after=a/b/c", "invalid_after"),
        ("after=a%20b", "invalid_after"),
        ("after=a&after=b", "invalid_after"),
        ("env=test", "unknown_parameter"),
    ],
)
async def test_invalid_page_parameters_are_refused(gateway, path, query, code):
    reply = await gateway.manage("GET", f"{path}?{query}")
    assert (reply.status, reply.error) == (422, code)


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
async def test_each_organization_is_listed_once(many, limit):
    found = joined(await pages(many, f"/v1/orgs?limit={limit}"))
    assert found == [{"id": org, "name": org} for org in ("acme-2", "acme", "zeta")]


async def test_organizations_are_a_bare_array_without_pages_up_to_a_thousand():
    async with run_gateway(declared(*(f"org{number:03d}/a/production" for number in range(300)))) as gateway:
        reply = await gateway.manage("GET", "/v1/orgs")
        assert (len(reply.json), reply.headers.get("Link")) == (300, None)


async def test_an_organization_disappears_with_its_last_app(many):
    await many.manage("DELETE", "/v1/orgs/acme-2/apps/y")
    assert [org["id"] for org in (await many.manage("GET", "/v1/orgs")).json] == ["acme", "zeta"]


async def test_large_organizations_cost_the_store_no_more_than_small_ones(gateway):
    for org in ("large", "small"):
        for number in range(300 if org == "large" else 1):
            await gateway.app.stores.records.swap(f"app/{org}/{number:03d}/e", b"{}", None)
    before = gateway.faults.count("page")
    assert len((await gateway.manage("GET", "/v1/orgs")).json) == 3
    assert gateway.faults.count("page") - before <= 3


@pytest.mark.parametrize("path", [APPS, "/v1/orgs"])
async def test_no_list_is_shown_without_a_token(gateway, path):
    assert (await gateway.manage("GET", path, token="wrong")).status == 401
