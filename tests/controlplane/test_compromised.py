"""A hostile user of the control plane: it cannot extend its permissions, and its creations can be revoked."""

import pytest

from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, TABLES
from tests.replica.watched import watching
from tests.support.audit import audit_lines
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.signing import Signer

USER = "blog-team-control-token"
BOUND = {"role": ROLE, "org": "acme", "app": "blog", "env": "production"}
ENTRY = {
    "name": "blog-team",
    "token": USER,
    "allow": ["read", "tables", "credentials"],
    "orgs": ["acme"],
    "apps": ["blog"],
}


@pytest.fixture
async def watched(tmp_path):
    """A team that manages the tables of its app, and an operator."""
    async with watching(tmp_path, control={"tokens": [CONTROL_TOKEN, ENTRY]}) as watched:
        await watched.gateway.manage("PUT", BLOG, {"type": "api"})
        yield watched


async def end(watched) -> None:
    """Removes the team's token from the configuration."""
    await watched.reload(control={"tokens": [CONTROL_TOKEN]})
    assert (await watched.gateway.manage("GET", BLOG, token=USER)).error == "invalid_token"


async def signer_of(gateway) -> Signer:
    issued = (await gateway.manage("POST", CREDENTIALS, BOUND, token=USER)).json
    return Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])


async def test_no_call_extends_the_permissions_of_its_caller(watched):
    """No route reads or writes tokens and rules: they are in the configuration only."""
    gateway = watched.gateway
    before = (await gateway.manage("GET", "/v1/whoami", token=USER)).json
    for method, path, body in [
        ("PUT", f"{APPS}/mine", {"type": "api"}),
        ("PATCH", BLOG, {"requests_per_minute": 1_000_000}),
        ("POST", f"{APPS}/shop/services/kvs/tables", {"name": "mine"}),
        ("POST", CREDENTIALS, {"role": ROLE}),
        ("POST", CREDENTIALS, {**BOUND, "app": "shop"}),
        ("DELETE", BLOG, None),
    ]:
        assert (await gateway.manage(method, path, body, token=USER)).error == "not_allowed"
    assert (await gateway.manage("GET", "/v1/whoami", token=USER)).json == before
    paths = {pattern.pattern for pattern, _ in gateway.app.control.handler.router.routes}
    assert not [path for path in paths if "token" in path or "oidc" in path or "workload" in path]


async def test_credentials_of_a_revoked_token_work_until_their_access_keys_are_denied(watched):
    gateway = watched.gateway
    table = (await gateway.manage("POST", TABLES, {"name": "posts"}, token=USER)).json["token"]
    with audit_lines() as written:
        signer = await signer_of(gateway)
    await end(watched)
    assert (await gateway.put("k", 1, signer=signer, token=table)).status == 200
    (line,) = [line for line in written.lines if line["actor"] == "blog-team"]
    signature = {"denied_access_keys": [line["access_key_id"]]}
    await watched.reload(control={"tokens": [CONTROL_TOKEN]}, signature=signature)
    assert (await gateway.put("k", 1, signer=signer, token=table)).error == "invalid_credentials"


async def test_a_table_token_created_by_a_revoked_token_works_until_it_is_rotated(watched):
    gateway = watched.gateway
    table = (await gateway.manage("POST", TABLES, {"name": "posts"}, token=USER)).json["token"]
    await end(watched)
    assert (await gateway.put("k", 1, token=table)).status == 200
    await gateway.manage("POST", f"{TABLES}/posts/rotate", {"overlap_seconds": 0})
    assert (await gateway.put("k", 1, token=table)).error == "invalid_token"
