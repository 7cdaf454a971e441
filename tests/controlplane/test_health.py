"""Health of a replica over HTTP, for callers with read permission."""

import socket

import pytest

from gateway import __version__
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway

HEALTH = "/v1/health"


async def health(gateway, **options):
    return (await gateway.manage("GET", HEALTH, **options)).json


async def test_health_reports_readiness_and_the_replica(gateway):
    ready = (await gateway.ask_ops("/readyz")).json
    report = await health(gateway)
    assert {name: report[name] for name in ready} == ready
    assert (report["version"], report["region"], report["replica"]) == (
        __version__,
        "eu-central-1",
        socket.gethostname(),
    )
    assert report["started_at"] == report["last_reload_success_at"] == "2026-11-20T00:00:00.000Z"
    assert report["clock_skew_seconds"] == {}


async def test_health_reports_a_store_that_is_down_with_status_200(gateway):
    gateway.faults.fail = {"ping"}
    await gateway.app.ops.health.check()
    reply = await gateway.manage("GET", HEALTH)
    assert (reply.status, reply.json["dependencies"]["store"]) == (200, "down")


@pytest.mark.parametrize(("allow", "status"), [(["read"], 200), (["tables", "apps", "credentials"], 403)])
async def test_health_needs_a_read_permission(allow, status):
    entry = {"name": "team", "token": "the-token-of-the-team", "allow": allow, "orgs": ["other"]}
    async with run_gateway({"control": {"tokens": [CONTROL_TOKEN, entry]}}) as gateway:
        assert (await gateway.manage("GET", HEALTH, token=entry["token"])).status == status
        assert (await gateway.manage("GET", HEALTH, token=None)).status == 401


async def test_it_has_no_parameters(gateway):
    assert (await gateway.manage("GET", HEALTH + "?verbose=1")).error == "unknown_parameter"


async def test_a_failed_reload_is_reported_until_one_succeeds(tmp_path):
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        gateway.clock.advance(60_000)
        await watched.reload(control={"tokens": ["short"]})
        report = await health(gateway)
        assert (report["last_reload_successful"], report["last_reload_success_at"]) == (
            False,
            report["started_at"],
        )
        await watched.reload()
        report = await health(gateway)
        assert report["last_reload_successful"] is True
        assert report["last_reload_success_at"] > report["started_at"]
