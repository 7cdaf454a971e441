"""Concurrent registrations of one app: one of them creates it, and limits never mix."""

import asyncio

import pytest

from tests.controlplane.paths import BLOG, DECLARED

ONLY_IF_NEW = {"If-None-Match": "*"}
LIMITS = ("requests_per_minute", "max_tables")


def _register(gateway, limit: int, **options):
    body = {"type": "api", "requests_per_minute": limit, "max_tables": limit}
    return gateway.manage("PUT", BLOG, body, **options)


async def test_concurrent_puts_never_mix(gateway):
    replies = await asyncio.gather(*(_register(gateway, limit) for limit in range(1, 21)))
    assert sorted(reply.status for reply in replies) == [200] * 19 + [201]
    app = (await gateway.manage("GET", BLOG)).json
    assert app["requests_per_minute"] == app["max_tables"]


async def test_exactly_one_of_concurrent_conditional_puts_creates_the_app(gateway):
    asked = (_register(gateway, limit, headers=ONLY_IF_NEW) for limit in range(1, 21))
    replies = await asyncio.gather(*asked)
    (made,) = [reply.json for reply in replies if reply.status == 201]
    others = {(reply.status, reply.error) for reply in replies if reply.status != 201}
    assert others == {(412, "app_exists")}
    assert (await gateway.manage("GET", BLOG)).json == made


async def test_an_app_that_was_removed_is_new(blog):
    assert (await _register(blog, 5, headers=ONLY_IF_NEW)).status == 412
    await blog.manage("DELETE", BLOG)
    assert (await _register(blog, 5, headers=ONLY_IF_NEW)).status == 201


async def test_a_conditional_put_of_a_declared_app_is_refused_as_declared(gateway):
    reply = await gateway.manage("PUT", DECLARED, {"type": "api"}, headers=ONLY_IF_NEW)
    assert (reply.status, reply.error) == (409, "declared_app")


@pytest.mark.parametrize("sent", ['"tag"', 'W/"*"', "", "**"])
async def test_an_entity_tag_is_ignored_as_a_condition(blog, sent):
    assert (await _register(blog, 5, headers={"If-None-Match": sent})).status == 200


async def test_a_refused_registration_is_an_audit_event_with_its_code(blog, caplog):
    caplog.clear()
    await _register(blog, 5, headers=ONLY_IF_NEW)
    (line,) = [record.fields for record in caplog.records if record.name == "kvs.audit"]
    assert (line["outcome"], line["code"]) == ("refused", "app_exists")
