"""An issuer trusted for people and workloads is fetched once, counted once and kept by reloads."""

import pytest

from tests.credentialsplane.workloads import SHOP, SUBJECT, configured, fetch, vouch
from tests.identity.issuer import AUDIENCE, ISSUER, issuing, token
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

AGE = f'kvs_issuer_keys_age_seconds{{issuer="{ISSUER}"}}'


@pytest.fixture
async def issuer():
    async with issuing() as server:
        yield server


def people(issuer):
    trusted = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": issuer.url}
    return {"control": {"tokens": [CONTROL_TOKEN], "oidc": [trusted], "allow_insecure": True}}


def everybody(issuer):
    trusted = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": issuer.url}
    return people(issuer) | configured({**trusted, "subjects": [{"subject": SUBJECT, "role": ROLE, **SHOP}]})


async def assert_both_are_served(gateway):
    sent = token(gateway.clock).decode()
    assert (await gateway.manage("GET", "/v1/whoami", token=sent)).status == 200
    assert (await fetch(gateway, vouch())).status == 200


async def test_the_keys_are_fetched_once_for_both_listeners(issuer):
    async with run_gateway(everybody(issuer)) as gateway:
        await assert_both_are_served(gateway)
        assert issuer.asked == 1
        counted = await gateway.metrics()
        assert counted[f'kvs_issuer_fetches_total{{issuer="{ISSUER}",outcome="ok"}}'] == 1
        assert counted[f'kvs_issuer_fetches_total{{issuer="{ISSUER}",outcome="error"}}'] == 0


async def test_a_reload_that_adds_workloads_causes_no_further_fetch(issuer, tmp_path):
    changes = people(issuer) | {"listen": {"credentials": {"port": 0}}}
    async with watching(tmp_path, **changes) as watched:
        assert (await fetch(watched.gateway, vouch())).status == 401
        await watched.reload(**everybody(issuer))
        await assert_both_are_served(watched.gateway)
        await watched.reload(**{**everybody(issuer), "control": {"allow_insecure": True}})
        assert (await fetch(watched.gateway, vouch())).status == 200
        assert issuer.asked == 1


async def test_key_ages_show_an_outage_and_drop_untrusted_issuers(issuer, tmp_path):
    async with watching(tmp_path, **everybody(issuer)) as watched:
        gateway = watched.gateway
        await assert_both_are_served(gateway)
        issuer.misbehave = "hangs up"
        gateway.clock.advance(700_000)
        assert (await gateway.metrics())[AGE] == 700
        await watched.reload(listen={"credentials": {"port": 0}})
        assert AGE not in await gateway.metrics()
