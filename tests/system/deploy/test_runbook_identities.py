"""Runs the identity scripts of RUNBOOK.md on the audit log of a gateway."""

import asyncio
import os
import shutil
import subprocess
from urllib.request import Request, urlopen

import pytest

from tests.credentialsplane.workloads import CONTAINER, TOKEN, configured
from tests.support.config import BASE, CONTROL_TOKEN, ROLE, merged
from tests.support.load import client_of
from tests.support.process import GatewayProcess
from tests.system.deploy.runbook import script

BLOG = "/v1/orgs/acme/apps/blog"
TABLES = f"{BLOG}/services/kvs/tables"
TEAM = "shop-team-control-token"
BEARERS = [
    {"name": "platform", "token": CONTROL_TOKEN, "allow": "all"},
    {"name": "shop-team", "token": TEAM, "allow": ["tables", "credentials"]},
]


def fetch(url: str) -> int:
    """Returns the answer to a workload's exchange."""
    with urlopen(Request(url + CONTAINER, headers={"Authorization": TOKEN}), timeout=60) as answer:
        return answer.status


@pytest.fixture
async def managed(tmp_path):
    """Runs a script on a log in which a team created a table and issued credentials."""
    changes = {"control": {"tokens": BEARERS}, **configured()}
    with GatewayProcess(merged(BASE, changes), tmp_path) as process:
        async with client_of(process) as gateway:
            await gateway.manage("PUT", BLOG, {"type": "api"})
            await gateway.manage("POST", TABLES, {"name": "posts"}, token=TEAM)
            await gateway.manage("DELETE", BLOG, token=TEAM)
            issued = await gateway.manage("POST", "/v1/credentials", {"role": ROLE}, token=TEAM)
            assert (await asyncio.to_thread(fetch, process.urls["credentials"])) == 200
    key = issued.json["AccessKeyId"]

    def run(text: str) -> list[list[str]]:
        logs = f"logs() {{ cat {process.log}; }}\n"
        done = subprocess.run(
            ["/bin/sh", "-euc", logs + text.replace("ASIAEXAMPLE", key)],
            env={"PATH": os.environ["PATH"]},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    run.key = key
    return run


if shutil.which("jq"):

    def test_the_audit_log_answers_who_did_this_by_app_action_and_access_key(managed):
        found = [line[1:] for line in managed(script("who did this"))]
        here = "acme/blog/production"
        assert found == [
            ["platform", "-", "127.0.0.1", "app.register", here, "", "done", ""],
            ["shop-team", "-", "127.0.0.1", "table.create", here, "posts", "done", ""],
            ["shop-team", "-", "127.0.0.1", "app.remove", here, "", "refused", "not_allowed"],
            ["shop-team", "-", "127.0.0.1", "credentials.issue", "", "", "done", ""],
        ]

    def test_the_audit_log_names_the_workloads_that_fetched_credentials(managed):
        functions = script("who did this").splitlines()[0] + "\n"
        assert managed(functions + script("workloads that fetched")) == [["workloads[0].tokens[0]"]]

    def test_the_audit_log_names_everything_that_a_bearer_created(managed):
        functions = script("who did this").splitlines()[0] + "\n"
        assert managed(functions + script("what it did")) == [
            [managed.key],
            ["acme/blog/production", "posts"],
        ]
