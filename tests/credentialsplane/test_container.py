"""The container endpoint: exchanges a workload's token for credentials of its app environment."""

import msgspec
import pytest

from gateway.config.settings import WorkloadSettings, WorkloadToken
from tests.credentialsplane.workloads import CONTAINER, SHOP, TOKEN, configured, fetch, signer_of
from tests.support.config import ROLE
from tests.support.gateway import run_gateway

OTHER_APP = {"org": "acme", "app": "blog", "type": "api", "tables": [{"name": "p", "token": "blog-token"}]}


async def test_a_token_is_exchanged_for_credentials_in_the_format_of_sdks(fetching):
    reply = await fetch(fetching)
    assert reply.status == 200
    assert set(reply.json) == {"AccessKeyId", "SecretAccessKey", "Token", "Expiration", "RoleArn"}
    assert (reply.json["RoleArn"], reply.json["Expiration"]) == (ROLE, "2026-11-20T01:00:00Z")
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("sent", [TOKEN, f"Bearer {TOKEN}", f"bearer {TOKEN}"])
async def test_the_token_may_have_a_scheme(fetching, sent):
    assert (await fetch(fetching, sent)).status == 200


async def test_the_credentials_put_and_get_until_they_expire(fetching):
    signer = signer_of(await fetch(fetching))
    assert (await fetching.put("k", 1, signer=signer)).status == 200
    assert (await fetching.get("k", signer=signer)).json["value"] == 1
    fetching.clock.advance(3_600_000)
    assert (await fetching.get("k", signer=signer)).error == "invalid_credentials"
    assert (await fetching.get("k", signer=signer_of(await fetch(fetching)))).status == 200


async def test_the_credentials_work_for_no_other_app():
    shop = {"org": "acme", "app": "shop", "type": "api", "tables": [{"name": "s", "token": "shop-token"}]}
    async with run_gateway(configured() | {"apps": [shop, OTHER_APP]}) as gateway:
        signer = signer_of(await fetch(gateway))
        assert (await gateway.put("k", 1, signer=signer, token="shop-token")).status == 200
        refused = await gateway.put("k", 1, signer=signer, token="blog-token")
        assert (refused.status, refused.error) == (403, "caller_not_approved")


@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer ", TOKEN + "x", TOKEN.upper(), "a.b.c", "é"])
async def test_another_token_is_refused(fetching, sent):
    reply = await fetch(fetching, sent)
    assert (reply.status, reply.error) == (401, "invalid_identity_token")


async def test_a_repeated_field_is_refused(fetching):
    both = f"Authorization: {TOKEN}\r\n" * 2
    head = f"GET {CONTAINER} HTTP/1.1\r\nHost: localhost\r\n{both}Connection: close\r\n\r\n"
    assert b" 401 " in await fetching.send_raw(head.encode(), listener="credentials")


async def test_a_role_that_is_denied_later_gets_nothing(fetching):
    settings = fetching.app.reload.settings
    signature = msgspec.structs.replace(settings.signature, denied_roles=[ROLE])
    fetching.app.reload.prepare(msgspec.structs.replace(settings, signature=signature)).apply()
    reply = await fetch(fetching)
    assert (reply.status, reply.error) == (403, "access_denied")


async def test_a_reload_replaces_the_tokens_immediately(fetching):
    settings = fetching.app.reload.settings
    tokens = [WorkloadToken(token="another-workload-token", role=ROLE, **SHOP)]
    changed = msgspec.structs.replace(settings, workloads=[WorkloadSettings(tokens=tokens)])
    fetching.app.reload.prepare(changed).apply()
    assert (await fetch(fetching)).status == 401
    assert (await fetch(fetching, "another-workload-token")).status == 200
