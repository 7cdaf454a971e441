"""Refused requests are all counted, and a bounded number of them is logged."""

import json

import pytest

from gateway.controlplane.handler import REFUSAL_LINES_PER_SECOND
from gateway.directory.apps import changes
from gateway.observability.logs import JsonFormatter
from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, TABLES

CANARY = "canary-control-token"


def requests(action: str, outcome: str) -> str:
    return f'kvs_control_requests_total{{action="{action}",outcome="{outcome}"}}'


@pytest.fixture
def lines(caplog):
    """Reads the log lines of refusals."""

    def written():
        records = [record for record in caplog.records if record.name == "kvs.control"]
        return [json.loads(JsonFormatter().format(record)) for record in records]

    return written


async def test_every_wrong_token_is_counted_and_at_most_20_a_second_are_logged(gateway, lines, monkeypatch):
    now_seconds = 7.0
    monkeypatch.setattr(gateway.app.control.handler._refusals, "_now_seconds", lambda: now_seconds)
    assert (await gateway.metrics())[requests("authenticate", "refused")] == 0
    for _ in range(300):
        assert (await gateway.manage("GET", APPS, token=CANARY)).status == 401
    assert (await gateway.metrics())[requests("authenticate", "refused")] == 300
    assert len(lines()) == REFUSAL_LINES_PER_SECOND
    assert {(line["action"], line["code"], line["peer"]) for line in lines()} == {
        ("authenticate", "invalid_token", "127.0.0.1")
    }
    assert CANARY not in json.dumps(lines())
    now_seconds = 8.0
    await gateway.manage("GET", APPS, token=None)
    assert lines()[-1]["code"] == "missing_token"


async def test_the_log_line_of_a_refusal_names_the_control_token(gateway, lines):
    reply = await gateway.manage("POST", CREDENTIALS, {"role": "nobody"})
    (line,) = lines()
    assert (
        line.items()
        >= {
            "action": "credentials.issue",
            "code": "role_not_approved",
            "actor": "token-1",
            "request_id": reply.headers["x-request-id"],
        }.items()
    )


async def test_requests_are_counted_by_action_and_outcome(gateway, monkeypatch):
    monkeypatch.setattr(changes, "_FIND_OUT_SECONDS", 0)
    await gateway.manage("PUT", BLOG, {"type": "api"})
    await gateway.manage("POST", TABLES, {"name": "posts"})
    await gateway.manage("POST", TABLES, {"name": "posts"})
    await gateway.manage("GET", "/v1/nothing")
    gateway.faults.refuse = {"app/acme/blog/production"}
    await gateway.manage("POST", TABLES, {"name": "more"})
    gateway.faults.refuse, gateway.faults.lose = set(), {"app/acme/blog/production"}
    await gateway.manage("POST", f"{BLOG}/suspend")
    counted = await gateway.metrics()
    for action, outcome in [
        ("app.register", "done"),
        ("table.create", "done"),
        ("app.suspend", "unknown"),
        ("other", "refused"),
    ]:
        assert counted[requests(action, outcome)] == 1
    assert counted[requests("table.create", "refused")] == 2
