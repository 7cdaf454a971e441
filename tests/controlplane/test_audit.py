"""Every requested change is one audit event: actor, action, time and outcome, never a token."""

import json
import logging

import pytest

from gateway.directory.apps import changes
from gateway.observability.logs import JsonFormatter, configure_logging
from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, DECLARED, TABLES
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

HERE = "acme/blog/production"
CHANGES = [
    ("PUT", BLOG, {"type": "api"}, {"action": "app.register", "type": "api"}),
    ("PATCH", BLOG, {"max_tables": 2}, {"action": "app.change", "max_tables": 2}),
    ("PATCH", BLOG, {"max_bytes": 9}, {"action": "app.change", "max_bytes": 9}),
    ("POST", f"{BLOG}/suspend", None, {"action": "app.suspend"}),
    ("POST", f"{BLOG}/resume", None, {"action": "app.resume"}),
    ("POST", TABLES, {"name": "more"}, {"action": "table.create", "table": "more"}),
    (
        "POST",
        f"{TABLES}/posts/rotate",
        {"overlap_seconds": 5},
        {"action": "table.rotate", "overlap_seconds": 5},
    ),
    (
        "PATCH",
        f"{TABLES}/posts",
        {"minute_limit": 5},
        {"action": "table.change", "table": "posts", "minute_limit": 5},
    ),
    ("POST", f"{TABLES}/posts/upgrade", None, {"action": "table.upgrade", "table": "posts", "moved": 0}),
    ("DELETE", f"{TABLES}/posts", None, {"action": "table.delete", "table": "posts"}),
    ("DELETE", BLOG, None, {"action": "app.remove"}),
]
REFUSED = [
    ("PUT", BLOG, {"type": ""}, {"action": "app.register", "code": "invalid_type"}),
    ("PUT", BLOG, [], {"action": "app.register", "code": "invalid_json"}),
    ("PUT", f"{BLOG}?env=a%20b", {"type": "api"}, {"code": "invalid_name", "environment": None}),
    ("POST", TABLES, {"name": "posts"}, {"action": "table.create", "code": "table_exists", "table": "posts"}),
    ("DELETE", f"{TABLES}/nothing", None, {"action": "table.delete", "code": "table_not_found"}),
    ("DELETE", DECLARED, None, {"code": "declared_app", "environment": "acme/shop/production"}),
    ("POST", CREDENTIALS, {"role": "nobody"}, {"action": "credentials.issue", "code": "role_not_approved"}),
]
NO_CHANGES = [("GET", BLOG), ("GET", APPS), ("GET", TABLES), ("GET", f"{BLOG}nothing"), ("DELETE", APPS)]
NO_CHANGES += [("GET", f"{TABLES}/posts")]


@pytest.fixture
async def busy(blog):
    """The blog app with one table."""
    await blog.manage("POST", TABLES, {"name": "posts"})
    return blog


def _lines(caplog) -> list[dict]:
    return [
        json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "kvs.audit"
    ]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[3]["action"])
async def test_a_change_is_one_audit_event_with_actor_action_and_time(busy, caplog, change):
    method, path, body, said = change
    caplog.clear()
    reply = await busy.manage(method, path, body)
    (line,) = _lines(caplog)
    who = {"actor": "token-1", "peer": "127.0.0.1"}
    assert line.items() >= {**said, "environment": HERE, "outcome": "done", **who}.items()
    assert line["request_id"] == reply.headers["x-request-id"]
    assert line["time"].startswith("20")
    assert line["level"] == "info"


async def test_issuing_credentials_is_one_audit_event(gateway, caplog):
    caplog.clear()
    issued = (await gateway.manage("POST", CREDENTIALS, {"role": ROLE, "ttl_seconds": 60})).json
    (line,) = _lines(caplog)
    expected = {"action": "credentials.issue", "role": ROLE, "ttl_seconds": 60, "environment": None}
    assert line.items() >= {**expected, "access_key_id": issued["AccessKeyId"]}.items()


@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change[3]["code"])
async def test_a_refused_change_is_one_audit_event_with_its_code(busy, caplog, change):
    method, path, body, said = change
    caplog.clear()
    reply = await busy.manage(method, path, body)
    (line,) = _lines(caplog)
    assert line.items() >= {**said, "outcome": "refused", "actor": "token-1", "peer": "127.0.0.1"}.items()
    assert line["code"] == reply.error


@pytest.mark.parametrize(("method", "path"), NO_CHANGES)
async def test_reads_are_not_in_the_audit_log(busy, caplog, method, path):
    caplog.clear()
    await busy.manage(method, path)
    assert _lines(caplog) == []


async def test_a_change_that_never_reached_the_store_is_refused(busy, caplog):
    busy.faults.fail = {"*"}
    caplog.clear()
    reply = await busy.manage("POST", f"{BLOG}/suspend")
    (line,) = _lines(caplog)
    assert (line["outcome"], line["code"]) == ("refused", "auth_unavailable")
    assert (reply.status, reply.error) == (503, "auth_unavailable")
    assert "nothing was changed" in reply.headers["x-kvs-error-detail"]


async def test_a_change_without_a_reply_of_the_store_is_unknown(busy, caplog, monkeypatch):
    monkeypatch.setattr(changes, "_FIND_OUT_SECONDS", 0)
    busy.faults.lose = {f"app/{HERE}"}
    caplog.clear()
    reply = await busy.manage("POST", f"{BLOG}/suspend")
    (line,) = _lines(caplog)
    assert line.items() >= {"action": "app.suspend", "environment": HERE, "outcome": "unknown"}.items()
    assert (reply.status, reply.error, reply.headers["Retry-After"]) == (503, "auth_unavailable", "1")
    assert "not known whether" in reply.headers["x-kvs-error-detail"]
    assert "repeated safely" in reply.headers["x-kvs-error-detail"]


async def test_a_change_whose_reply_is_lost_is_done_if_it_was_applied(busy, caplog):
    busy.faults.lose = {f"app/{HERE}"}
    caplog.clear()
    reply = await busy.manage("POST", TABLES, {"name": "more"})
    (line,) = _lines(caplog)
    assert (busy.faults.lose, reply.status, line["outcome"]) == (set(), 201, "done")
    assert (await busy.get("k", token=reply.json["token"])).status == 200


async def test_an_app_with_a_corrupt_record_is_refused_with_advice_and_can_be_removed(busy, caplog):
    records = busy.app.stores.records
    record = await records.read(f"app/{HERE}")
    await records.swap(f"app/{HERE}", b"{", record.version)
    for method, path in [("GET", BLOG), ("GET", TABLES), ("POST", f"{BLOG}/suspend")]:
        reply = await busy.manage(method, path)
        assert (reply.status, reply.error) == (503, "auth_unavailable")
        assert "remove the app" in reply.headers["x-kvs-error-detail"]
    assert [app["app_id"] for app in (await busy.manage("GET", APPS)).json] == ["shop"]
    assert (await busy.metrics())["kvs_directory_corrupt_records"] == 1
    assert (await busy.manage("DELETE", BLOG)).status == 204
    assert (await busy.manage("GET", BLOG)).status == 404


async def test_no_log_line_contains_a_token_or_a_secret(gateway, caplog):
    caplog.set_level(logging.DEBUG)
    secrets = [CONTROL_TOKEN]
    await gateway.manage("PUT", BLOG, {"type": "api"})
    secrets.append((await gateway.manage("POST", TABLES, {"name": "posts"})).json["token"])
    secrets.append((await gateway.manage("POST", f"{TABLES}/posts/rotate")).json["token"])
    issued = (await gateway.manage("POST", CREDENTIALS, {"role": ROLE})).json
    secrets += [issued["SecretAccessKey"], issued["SessionToken"]]
    await gateway.manage("DELETE", BLOG)
    written = "\n".join(f"{JsonFormatter().format(record)} {vars(record)}" for record in caplog.records)
    assert "table.create" in written
    assert not [secret for secret in secrets if secret in written]


async def test_the_audit_event_names_the_control_token(caplog):
    async with run_gateway(
        {"control": {"tokens": ["first-control-token", "second-control-token"]}}
    ) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"}, token="second-control-token")
    assert _lines(caplog)[0]["actor"] == "token-2"


async def test_changes_are_recorded_at_any_log_level(gateway, caplog, capsys):
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        configure_logging("error")
        await gateway.manage("PUT", BLOG, {"type": "api"})
    finally:
        root.handlers[:], root.level = before, level
    assert json.loads(capsys.readouterr().err)["action"] == "app.register"
