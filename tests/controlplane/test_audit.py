"""Every change is one audit log line: who, what, when; never a token."""

import json
import logging

import pytest

from gateway.observability.logs import JsonFormatter, configure_logging
from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, DECLARED, TABLES
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

HERE = "acme/blog/production"
CHANGES = [
    ("PUT", BLOG, {"type": "api"}, {"action": "app.register", "type": "api"}),
    ("POST", f"{BLOG}/suspend", None, {"action": "app.suspend"}),
    ("POST", f"{BLOG}/resume", None, {"action": "app.resume"}),
    ("POST", TABLES, {"name": "more"}, {"action": "table.create", "table": "more"}),
    (
        "POST",
        f"{TABLES}/posts/rotate",
        {"overlap_seconds": 5},
        {"action": "table.rotate", "overlap_seconds": 5},
    ),
    ("DELETE", f"{TABLES}/posts", None, {"action": "table.delete", "table": "posts"}),
    ("DELETE", BLOG, None, {"action": "app.remove"}),
]
NO_CHANGES = [
    ("GET", BLOG, None),
    ("GET", APPS, None),
    ("GET", TABLES, None),
    ("PUT", BLOG, {"type": ""}),
    ("POST", TABLES, {"name": "posts"}),
    ("DELETE", f"{TABLES}/nothing", None),
    ("DELETE", DECLARED, None),
    ("POST", CREDENTIALS, {"role": "nobody"}),
]


@pytest.fixture
async def busy(blog):
    """The blog app has a table."""
    await blog.manage("POST", TABLES, {"name": "posts"})
    return blog


def _lines(caplog) -> list[dict]:
    return [
        json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "kvs.audit"
    ]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[3]["action"])
async def test_a_change_is_one_line_that_says_who_what_and_when(busy, caplog, change):
    method, path, body, said = change
    caplog.clear()
    reply = await busy.manage(method, path, body)
    (line,) = _lines(caplog)
    assert line.items() >= {**said, "environment": HERE, "control_token": 1, "peer": "127.0.0.1"}.items()
    assert line["request_id"] == reply.headers["x-request-id"]
    assert line["time"].startswith("20")
    assert line["level"] == "info"


async def test_issuing_credentials_is_one_line(gateway, caplog):
    caplog.clear()
    issued = (await gateway.manage("POST", CREDENTIALS, {"role": ROLE, "ttl_seconds": 60})).json
    (line,) = _lines(caplog)
    expected = {"action": "credentials.issue", "role": ROLE, "ttl_seconds": 60, "environment": None}
    assert line.items() >= {**expected, "access_key_id": issued["AccessKeyId"]}.items()


@pytest.mark.parametrize(("method", "path", "body"), NO_CHANGES)
async def test_what_changes_nothing_is_not_in_the_audit_log(busy, caplog, method, path, body):
    caplog.clear()
    await busy.manage(method, path, body)
    assert _lines(caplog) == []


async def test_no_log_line_holds_a_token_or_a_secret(gateway, caplog):
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


async def test_the_line_tells_which_of_several_control_tokens_was_used(caplog):
    async with run_gateway(
        {"control": {"tokens": ["first-control-token", "second-control-token"]}}
    ) as gateway:
        await gateway.manage("PUT", BLOG, {"type": "api"}, token="second-control-token")
    assert _lines(caplog)[0]["control_token"] == 2


async def test_changes_are_recorded_whatever_the_log_level_is(gateway, caplog, capsys):
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        configure_logging("error")
        await gateway.manage("PUT", BLOG, {"type": "api"})
    finally:
        root.handlers[:], root.level = before, level
    assert json.loads(capsys.readouterr().err)["action"] == "app.register"
