"""Counts of requests by control token, from 0 on and across reloads."""

from tests.controlplane.paths import APPS, BLOG
from tests.identity.issuer import AUDIENCE, ISSUER, issuing, token
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import Gateway

UNUSED = {"name": "pipeline", "token": "pipeline-control-token", "allow": ["read"]}


async def uses(gateway: Gateway) -> dict[str, float]:
    prefix = 'kvs_control_token_requests_total{name="'
    return {
        series.removeprefix(prefix).removesuffix('"}'): count
        for series, count in (await gateway.metrics()).items()
        if series.startswith(prefix)
    }


async def test_requests_are_counted_by_control_token_from_0(tmp_path):
    async with watching(tmp_path, control={"tokens": [CONTROL_TOKEN, UNUSED]}) as watched:
        gateway = watched.gateway
        assert await uses(gateway) == {"token-1": 0, "pipeline": 0}
        await gateway.manage("GET", APPS)
        await gateway.manage("DELETE", BLOG)
        await gateway.manage("GET", "/v1/nothing")
        await gateway.manage("GET", APPS, token="no-such-control-token")
        await gateway.manage("GET", APPS, token=None)
        assert await uses(gateway) == {"token-1": 3, "pipeline": 0}


async def test_a_reload_replaces_the_counted_tokens_and_keeps_their_counts(tmp_path):
    async with watching(tmp_path, control={"tokens": [CONTROL_TOKEN, UNUSED]}) as watched:
        await watched.gateway.manage("GET", APPS)
        await watched.reload(control={"tokens": [CONTROL_TOKEN]})
        assert await uses(watched.gateway) == {"token-1": 1}


async def test_people_have_no_series_of_their_own(tmp_path):
    async with issuing() as issuer:
        entry = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": issuer.url}
        control = {"tokens": [CONTROL_TOKEN], "oidc": [entry], "allow_insecure": True}
        async with watching(tmp_path, control=control) as watched:
            sent = token(watched.gateway.clock, sub="token-1").decode()
            assert (await watched.gateway.manage("GET", "/v1/whoami", token=sent)).status == 200
            assert await uses(watched.gateway) == {"token-1": 0}
