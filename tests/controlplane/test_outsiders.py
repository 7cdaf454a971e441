"""Attempts to leave a narrow scope by unusual names, paths, queries and header fields."""

import json

import pytest

from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment
from gateway.observability.logs import JsonFormatter
from tests.controlplane.paths import APPS, BLOG, TABLES
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway

TOKEN = "the-token-of-an-outsider"

OTHER_SPELLINGS = [
    "%61cme", "ACME", "Acme", "acme%00", "acme%2Fapps%2Fshop", "%2e%2e", "..", ".", "acme;", "acme%20",
    "acme.", "a%63me", "%EF%BD%81cme", "acm\u00e9", "*", "a*", "[a]cme", "acme#", "%", "acme\\",
]  # fmt: skip


def running(allow="all", orgs=(), apps=()):
    entry = {"name": "outsider", "token": TOKEN, "allow": allow, "orgs": [*orgs], "apps": [*apps]}
    return run_gateway({"control": {"tokens": [CONTROL_TOKEN, entry]}})


async def send(gateway, method, path, *fields, token=TOKEN):
    """Sends a path that no client library normalizes; returns status and body."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Authorization: Bearer {token}",
    ]
    data = "\r\n".join([*lines, *fields, "Content-Length: 0", "", ""]).encode("latin-1")
    top, _, body = (await gateway.send_raw(data, listener="control")).partition(b"\r\n\r\n")
    return int(top.split()[1]), body


@pytest.mark.parametrize("spelling", OTHER_SPELLINGS)
@pytest.mark.parametrize("part", ["org", "app"])
async def test_no_other_spelling_of_a_name_reaches_an_app_out_of_scope(spelling, part):
    path = f"/v1/orgs/{spelling}/apps/blog" if part == "org" else f"{APPS}/{spelling.replace('cme', 'log')}"
    async with running(orgs=["other", "a*"], apps=["shop*"]) as gateway:
        before = await send(gateway, "GET", path), await send(gateway, "DELETE", path)
        await gateway.manage("PUT", BLOG, {"type": "api"})
        assert (await send(gateway, "GET", path), await send(gateway, "DELETE", path)) == before
        assert {status for status, _ in before} <= {400, 403, 404, 422}
        assert (await gateway.manage("GET", BLOG)).status == 200


@pytest.mark.parametrize(
    "way_out", ["shop/../blog", "shop/./../blog", "shop%2F..%2Fblog", "shop/%2e%2e/blog"]
)
async def test_dots_do_not_lead_from_an_app_in_scope_to_another(way_out):
    async with running(apps=["shop*"]) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        for method in ("GET", "DELETE"):
            status, _ = await send(gateway, method, f"{APPS}/{way_out}")
            assert status in (403, 404, 422)
        assert (await gateway.manage("GET", BLOG)).status == 200


@pytest.mark.parametrize(
    "query",
    [
        "env=staging&env=production", "env=production&env=production", "env=staging;env=production",
        "env=staging&ENV=production", "env[]=staging", "env=", "env", "env=%00", "env=staging%2Fx",
        "env=../production", "org=other", "app=other", "env=staging&org=other",
        "%65nv=staging&env=production",
    ],
)  # fmt: skip
async def test_an_ambiguous_query_is_refused_and_changes_nothing(query):
    async with run_gateway() as gateway:
        for env in ("production", "staging"):
            await gateway.manage("PUT", f"{BLOG}?env={env}", {"type": "api"})
        assert (await send(gateway, "DELETE", f"{BLOG}?{query}", token=CONTROL_TOKEN))[0] == 422
        assert len([app for app in (await gateway.manage("GET", APPS)).json if app["id"] == "blog"]) == 2


@pytest.mark.parametrize(
    "field", ["X-HTTP-Method-Override: DELETE", "X-Method-Override: DELETE", "X-Original-URL: /v1/orgs"]
)
async def test_no_header_field_turns_a_request_into_another_call(field):
    async with running(allow=["read"]) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        assert (await send(gateway, "GET", BLOG, field))[0] == 200
        assert (await send(gateway, "POST", f"{BLOG}/suspend", field))[0] == 403
        assert (await gateway.manage("GET", BLOG)).status == 200


@pytest.mark.parametrize("limit", [1, 5, 1000])
async def test_a_page_after_a_hidden_name_equals_one_after_a_missing_name(limit):
    async with running(allow=["read"], orgs=["acme"], apps=["zz*"]) as gateway:
        for app in ("hidden", "secret", "zz-1", "zz-2"):
            record = AppRecord(environment=Environment("acme", app, "production"), type="api", active=True)
            await gateway.app.stores.records.swap(app_name(record.environment), encode(record), None)
        pages = [
            await gateway.manage("GET", f"{APPS}?limit={limit}&after={after}", token=TOKEN)
            for after in ("hidden", "hidden/production", "hiddem", "hidden/staging", "secret")
        ]
        assert len({(page.status, page.body, page.headers.get("Link")) for page in pages}) == 1
        orgs = [await gateway.manage("GET", f"/v1/orgs?after={org}", token=TOKEN) for org in ("aa", "acmd")]
        assert [[org["id"] for org in each.json] for each in orgs] == [["acme"], ["acme"]]


@pytest.mark.parametrize("name", ['posts","outcome":"done","x":"', "posts%0a{}", "x" * 3000])
async def test_a_name_in_a_path_cannot_split_an_audit_line(caplog, name):
    async with running(allow=["tables"]) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"})
        caplog.clear()
        assert (await send(gateway, "DELETE", f"{TABLES}/{name}"))[0] == 404
    [text] = [JsonFormatter().format(each) for each in caplog.records if each.name == "kvs.audit"]
    line = json.loads(text)
    assert (line["table"], line["outcome"], line["actor"]) == (name[:256], "refused", "outsider")
    assert text.isascii()
    assert text.isprintable()
