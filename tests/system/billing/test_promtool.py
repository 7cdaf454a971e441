"""Exposition passes Prometheus' own linter."""

import asyncio
import subprocess

import pytest

from tests.support.gateway import run_gateway
from tests.support.prometheus import program_or_skip
from tests.support.scraping import REQUESTS, scrape, total
from tests.system.billing.traffic import APPS, CALLS

OUTCOMES = ("ok", "not_found", "invalid", "rate_limited", "error")


@pytest.mark.parametrize("path", ["/metrics", "/metrics/usage", "/metrics/service"])
async def test_promtool_finds_nothing_to_say_about(path):
    async with run_gateway({"apps": APPS, "metering": {"max_series": 169}}) as gateway:
        for _ in range(15):
            for operation, token, body in CALLS:
                await gateway.call(operation, body, token=token)
        gateway.faults.fail = {"get"}
        await gateway.get("k")
        await gateway.get("k", token="wrong")
        await gateway.get("k", signer=None)
        await gateway.ask_ops("/nowhere")
        await gateway.manage("PUT", "/v1/orgs/acme/apps/new", {"type": "api"})
        samples = await scrape(gateway)
        assert all(total(samples, REQUESTS, outcome=outcome) for outcome in OUTCOMES)
        exposed = (await gateway.ask_ops(path)).body
    done = await asyncio.to_thread(lint, exposed)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def lint(exposed: bytes) -> subprocess.CompletedProcess[bytes]:
    program = program_or_skip("promtool")
    return subprocess.run(
        [program, "check", "metrics"], input=exposed, capture_output=True, timeout=30, check=False
    )


def test_promtool_finds_a_planted_mistake():
    assert b"no help text" in lint(b"kvs_total 1\n").stderr
