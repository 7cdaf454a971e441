"""OIDC callers of the control plane: rules from claims to permissions, an issuer outage, a reload."""

import json

import pytest

from gateway.observability.logs import JsonFormatter
from tests.controlplane.paths import APPS, BLOG
from tests.identity.issuer import AUDIENCE, ISSUER, PRIVATE, issuing, jwks, shown, token
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway

RULES = [
    {"claim": "groups", "value": "shop", "allow": ["read", "tables"], "orgs": ["acme"], "apps": ["shop*"]},
    {"claim": "groups", "value": "ops", "allow": ["read"]},
    {"claim": "email", "value": "ada@example.com", "allow": ["apps"], "orgs": ["acme"], "apps": ["blog"]},
]


def trusting(server, rules=RULES, **fields):
    entry = {"issuer": ISSUER, "audience": AUDIENCE, "jwks": server.url, "rules": rules, **fields}
    return {"tokens": [CONTROL_TOKEN], "oidc": [entry], "allow_insecure": True}


@pytest.fixture
async def issuer():
    async with issuing() as server:
        yield server


@pytest.fixture
async def gateway(issuer):
    async with run_gateway({"control": trusting(issuer)}) as gateway:
        yield gateway


async def ask(gateway, method, path, body=None, **claims):
    sent = token(gateway.clock, **claims)
    return await gateway.manage(method, path, body, token=sent.decode())


async def test_all_matching_rules_are_granted(gateway):
    who = (await ask(gateway, "GET", "/v1/whoami", groups=["shop", "ops"], email="eve@example.com")).json
    assert (who["name"], who["issuer"], who["allow"]) == ("ada", ISSUER, ["read", "tables"])
    assert who["grants"] == [
        {"allow": ["read", "tables"], "orgs": ["acme"], "apps": ["shop*"]},
        {"allow": ["read"], "orgs": [], "apps": []},
    ]


@pytest.mark.parametrize(
    "claims", [{}, {"groups": ["other"]}, {"groups": {"shop": 1}}, {"groups": "shop,ops"}]
)
async def test_a_subject_without_a_matching_rule_may_only_call_whoami(gateway, claims):
    assert (await ask(gateway, "GET", "/v1/whoami", **claims)).json["allow"] == []
    assert (await ask(gateway, "GET", APPS, **claims)).error == "not_allowed"


async def test_a_person_has_the_permissions_of_a_rule_within_its_scope(gateway, caplog):
    caplog.clear()
    email = {"email": "ada@example.com"}
    assert (await ask(gateway, "PUT", BLOG, {"type": "api"}, **email)).status == 201
    assert (await ask(gateway, "PUT", f"{APPS}/shop2", {"type": "api"}, **email)).status == 403
    assert (await ask(gateway, "GET", APPS, groups="ops")).status == 200
    lines = [json.loads(JsonFormatter().format(each)) for each in caplog.records if each.name == "kvs.audit"]
    assert [(line["actor"], line["issuer"], line["outcome"]) for line in lines] == [
        ("ada", ISSUER, "done"),
        ("ada", ISSUER, "refused"),
    ]


async def test_a_token_for_another_audience_is_401_and_control_tokens_still_work(gateway):
    reply = await ask(gateway, "GET", APPS, aud="other")
    assert (reply.status, reply.error) == (401, "invalid_token")
    assert "JWT" in reply.headers["x-kvs-error-detail"]
    assert (await ask(gateway, "GET", APPS, exp=1)).error == "invalid_token"
    assert (await gateway.manage("GET", APPS)).status == 200


async def test_no_log_line_contains_a_jwt(gateway, caplog):
    for claims in ({"groups": ["ops"]}, {"aud": "other"}):
        sent = token(gateway.clock, **claims).decode()
        await gateway.manage("PUT", BLOG, {"type": "api"}, token=sent)
        written = "\n".join(f"{JsonFormatter().format(record)} {vars(record)}" for record in caplog.records)
        assert sent not in written
        assert sent.rpartition(".")[2] not in written


async def test_tokens_of_an_unreachable_issuer_are_503_and_control_tokens_work(issuer):
    issuer.misbehave = "hangs up"
    async with run_gateway({"control": trusting(issuer)}) as gateway:
        reply = await ask(gateway, "GET", APPS, groups=["ops"])
        assert (reply.status, reply.error) == (503, "auth_unavailable")
        assert 1 <= int(reply.headers["Retry-After"]) <= 10
        assert "issuer" in reply.headers["x-kvs-error-detail"]
        assert (await gateway.manage("GET", APPS)).status == 200
        issuer.misbehave = None
        gateway.clock.advance(10_000)
        assert (await ask(gateway, "GET", APPS, groups=["ops"])).status == 200


async def test_a_reload_replaces_rules_and_keeps_the_keys_of_an_issuer_that_is_down(issuer, tmp_path):
    async with watching(tmp_path, control=trusting(issuer)) as watched:
        gateway = watched.gateway
        assert (await ask(gateway, "GET", APPS, groups=["ops"])).status == 200
        issuer.misbehave = "hangs up"
        await watched.reload(control=trusting(issuer, [{"claim": "groups", "value": "new", "allow": "all"}]))
        assert (await ask(gateway, "GET", APPS, groups=["ops"])).status == 403
        assert (await ask(gateway, "GET", APPS, groups=["new"])).status == 200
        await watched.reload(control={"tokens": [CONTROL_TOKEN]})
        assert (await ask(gateway, "GET", APPS, groups=["new"])).status == 401


async def test_a_stranger_does_not_make_the_token_of_a_new_key_invalid(issuer, caplog):
    async with run_gateway({"control": trusting(issuer)}) as gateway:
        assert (await ask(gateway, "GET", APPS, groups=["ops"])).status == 200
        issuer.body = jwks(shown(PRIVATE["RS256"], "new"))
        sent = token(gateway.clock, headers={"kid": "new"}, groups=["ops"]).decode()
        reply = await gateway.manage("GET", APPS, token=sent)
        assert (reply.status, reply.error, reply.headers["Retry-After"]) == (503, "auth_unavailable", "10")
        (line,) = [each.fields for each in caplog.records if each.name == "kvs.control"]
        assert (line["code"], line["peer"], line["actor"]) == ("auth_unavailable", "127.0.0.1", None)
        gateway.clock.advance(10_000)
        assert (await gateway.manage("GET", APPS, token=sent)).status == 200
