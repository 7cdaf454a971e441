"""Changes that a reload applies to a running replica, and changes that need a restart."""

import os

import pytest

from tests.replica.watched import watching
from tests.support.config import BASE, CONTROL_TOKEN, OTHER_TABLE_TOKEN, ROLE, TABLE_TOKEN
from tests.support.scraping import hanging_call
from tests.support.signing import Signer

SUCCESSFUL = "kvs_config_last_reload_successful"
SUCCESS_TIME = "kvs_config_last_reload_success_timestamp_seconds"
NEW_KEY = "another-master-key-of-at-least-32-characters"


def declared(*tables, **fields):
    return [{"org": "acme", "app": "shop", "type": "api", "tables": list(tables), **fields}]


def sessions(*master_keys):
    return {"signature": {"credentials": {"session": {"master_keys": list(master_keys)}}}}


async def issue(gateway, token=CONTROL_TOKEN):
    return await gateway.manage("POST", "/v1/credentials", {"role": ROLE}, token=token)


def signer_of(reply):
    credentials = reply.json
    return Signer(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])


async def test_a_declared_token_that_is_replaced_is_refused_and_the_new_one_works_on_the_same_entries(
    tmp_path,
):
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        await gateway.put("k", 1)
        await watched.reload(apps=declared({"name": "sessions", "token": "the-new-token"}))
        assert (await gateway.get("k")).error == "invalid_token"
        assert (await gateway.get("k", token="the-new-token")).json["value"] == 1
        assert (await gateway.get("k", token=OTHER_TABLE_TOKEN)).error == "invalid_token"


async def test_a_declared_app_that_is_new_is_served_and_listed_and_its_series_are_shown(tmp_path):
    async with watching(tmp_path) as watched:
        app = {
            "org": "acme",
            "app": "blog",
            "type": "api",
            "tables": [{"name": "posts", "token": "posts-token"}],
        }
        await watched.reload(apps=[*BASE["apps"], app])
        gateway = watched.gateway
        assert (await gateway.put("k", 1, token="posts-token")).status == 200
        listed = await gateway.manage("GET", "/v1/orgs/acme/apps")
        assert [each["app_id"] for each in listed.json] == ["blog", "shop"]
        assert any('app="blog"' in series for series in await gateway.metrics())


async def test_a_declared_app_can_be_suspended_by_its_file(tmp_path):
    async with watching(tmp_path) as watched:
        table = {"name": "sessions", "token": TABLE_TOKEN}
        await watched.reload(apps=declared(table, status="inactive"))
        assert (await watched.gateway.get("k")).error == "binding_inactive"
        await watched.reload(apps=declared(table))
        assert (await watched.gateway.get("k")).status == 200


async def test_a_declared_app_that_was_removed_is_none(tmp_path):
    async with watching(tmp_path) as watched:
        await watched.reload(apps=[])
        assert (await watched.gateway.get("k")).error == "invalid_token"
        assert (await watched.gateway.manage("GET", "/v1/orgs/acme/apps/shop")).error == "app_not_found"


async def test_a_raised_limit_of_a_declared_app_admits_immediately(tmp_path):
    table = {"name": "sessions", "token": TABLE_TOKEN}
    async with watching(tmp_path, apps=declared(table, requests_per_minute=2)) as watched:
        gateway = watched.gateway
        assert [(await gateway.get("k")).status for _ in range(3)] == [200, 200, 429]
        await watched.reload(apps=declared(table, requests_per_minute=3))
        assert [(await gateway.get("k")).status for _ in range(2)] == [200, 429]


async def test_a_static_secret_that_is_replaced_stops_signing(tmp_path):
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        assert (await gateway.get("k")).status == 200
        key = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "the-secret-replaced", "role": ROLE}
        await watched.reload(signature={"credentials": {"static": [key]}})
        assert (await gateway.get("k")).error == "signature_mismatch"
        assert (await gateway.get("k", signer=Signer("AKIDEXAMPLE", "the-secret-replaced"))).status == 200


async def test_a_master_key_rotates_without_a_moment_in_which_a_session_fails(tmp_path):
    old, new = BASE["signature"]["credentials"]["session"]["master_keys"][0], NEW_KEY
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        first = signer_of(await issue(gateway))
        await watched.reload(**sessions(new, old))
        second = signer_of(await issue(gateway))
        assert [(await gateway.get("k", signer=signer)).status for signer in (first, second)] == [200, 200]
        await watched.reload(**sessions(new))
        assert (await gateway.get("k", signer=first)).error == "invalid_credentials"
        assert (await gateway.get("k", signer=second)).status == 200


async def test_a_secret_of_the_proxy_rotates_without_a_refused_call(tmp_path):
    old, new = "the-old-secret-of-the-proxy", "the-new-secret-of-the-proxy"

    def proxy(*secrets: str):
        roles = ["arn:aws:iam::123456789012:role/managed-app-*"]
        return {"approved_roles": roles, "credentials": {"trusted_proxy": {"secret": [*secrets]}}}

    async def status(secret: str) -> int:
        fields = {"X-KVS-Caller-Arn": ROLE, "X-KVS-Proxy-Secret": secret}
        return (await watched.gateway.get("k", signer=None, headers=fields)).status

    async with watching(tmp_path, signature=proxy(old)) as watched:
        assert [await status(old), await status(new)] == [200, 403]
        await watched.reload(signature=proxy(old, new))
        assert [await status(old), await status(new)] == [200, 200]
        await watched.reload(signature=proxy(new))
        assert [await status(old), await status(new)] == [403, 200]


async def test_a_role_an_access_key_or_a_network_is_denied_and_accepted_again(tmp_path):
    static = BASE["signature"]["credentials"]["static"]
    denials = [
        ({"denied_roles": ["arn:aws:iam::*:role/*-test"]}, "caller_not_approved"),
        ({"denied_access_keys": ["AKIDEXAMPLE"]}, "invalid_credentials"),
        ({"denied_networks": ["10.0.0.0/8", "127.0.0.0/8"]}, "caller_not_approved"),
    ]
    async with watching(tmp_path) as watched:
        for denial, code in denials:
            await watched.reload(signature={"credentials": {"static": static}, **denial})
            assert (await watched.gateway.get("k")).error == code
            await watched.reload(signature={"credentials": {"static": static}})
            assert (await watched.gateway.get("k")).status == 200


async def test_the_access_key_of_one_session_can_be_denied(tmp_path):
    async with watching(tmp_path) as watched:
        leaked, other = [signer_of(await issue(watched.gateway)) for _ in range(2)]
        assert (await watched.gateway.get("k", signer=leaked)).status == 200
        await watched.reload(signature={"denied_access_keys": [leaked.access_key_id]})
        assert (await watched.gateway.get("k", signer=leaked)).error == "invalid_credentials"
        assert (await watched.gateway.get("k", signer=other)).status == 200


async def test_no_credentials_are_issued_for_a_denied_role(tmp_path):
    async with watching(tmp_path) as watched:
        await watched.reload(signature={"denied_roles": [ROLE]})
        assert (await issue(watched.gateway)).error == "role_not_approved"


async def test_a_role_that_is_no_longer_approved_is_refused(tmp_path):
    async with watching(tmp_path) as watched:
        session = signer_of(await issue(watched.gateway))
        await watched.reload(
            signature={"approved_roles": ["arn:aws:iam::*:role/other-*"], "credentials": {"static": []}}
        )
        assert (await watched.gateway.get("k", signer=session)).error == "caller_not_approved"
        assert (await issue(watched.gateway)).error == "role_not_approved"


async def test_a_control_token_that_is_replaced_manages_no_more(tmp_path):
    async with watching(tmp_path) as watched:
        await watched.reload(control={"tokens": ["the-new-control-token"]})
        assert (await issue(watched.gateway)).error == "invalid_token"
        assert (await issue(watched.gateway, "the-new-control-token")).status == 200


async def test_a_secret_in_a_file_is_read_again(tmp_path):
    secret = tmp_path / "token"
    secret.write_text("first-token\n")
    apps = declared({"name": "sessions", "token": f"file:{secret}"})
    async with watching(tmp_path, apps=apps) as watched:
        assert (await watched.gateway.get("k", token="first-token")).status == 200
        secret.write_text("second-token\n")
        await watched.read_again()
        assert (await watched.gateway.get("k", token="first-token")).error == "invalid_token"
        assert (await watched.gateway.get("k", token="second-token")).status == 200


@pytest.mark.parametrize(
    "text",
    ["", "region: [", "region: eu-central-1\nno_such_key: 1\n", "region: x\nsignature: {mode: maybe}\n"],
)
async def test_a_broken_file_keeps_the_current_settings_and_raises_the_metric(tmp_path, caplog, text):
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        before = (await gateway.metrics())[SUCCESS_TIME]
        gateway.clock.advance(5000)
        await watched.reload_text(text)
        metrics = await gateway.metrics()
        assert (metrics[SUCCESSFUL], metrics[SUCCESS_TIME]) == (0, before)
        assert (await gateway.get("k")).status == 200
        assert (await gateway.ask_ops("/readyz")).status == 200
        await watched.reload()
        metrics = await gateway.metrics()
        assert (metrics[SUCCESSFUL], metrics[SUCCESS_TIME]) == (1, before + 5)
    (failure,) = [
        record for record in caplog.records if record.message == "the configuration is not reloaded"
    ]
    assert failure.fields["problems"]


async def test_a_reload_gives_no_secret_a_second_role(tmp_path, caplog):
    async with watching(tmp_path) as watched:
        await watched.reload(control={"tokens": [CONTROL_TOKEN, TABLE_TOKEN]})
        gateway = watched.gateway
        assert (await gateway.metrics())[SUCCESSFUL] == 0
        assert (await gateway.manage("GET", "/v1/orgs", token=TABLE_TOKEN)).error == "invalid_token"
        assert (await gateway.get("k")).status == 200
    (failure,) = [
        record for record in caplog.records if record.message == "the configuration is not reloaded"
    ]
    paths = [problem["path"] for problem in failure.fields["problems"]]
    assert paths == ["apps[0].tables[0].token", "control.tokens[1]"]
    assert TABLE_TOKEN not in str(failure.fields)


async def test_a_deleted_file_keeps_the_current_settings(tmp_path):
    async with watching(tmp_path) as watched:
        watched.path.unlink()
        await watched.read_again()
        assert (await watched.gateway.metrics())[SUCCESSFUL] == 0
        assert (await watched.gateway.get("k")).status == 200


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to itself", "gigabyte"])
async def test_a_pipe_or_an_oversized_file_is_refused_without_waiting(tmp_path, kind, caplog):
    token = tmp_path / "control-token"
    token.write_text(CONTROL_TOKEN)
    control = {"control": {"tokens": [f"file:{token}"]}}
    async with watching(tmp_path, **control) as watched:
        token.unlink()
        match kind:
            case "pipe":
                os.mkfifo(token)
            case "device":
                token.symlink_to("/dev/zero")
            case "folder":
                token.mkdir()
            case "link to itself":
                token.symlink_to(token)
            case "gigabyte":
                token.touch()
                os.truncate(token, 2**30)
        await watched.read_again()
        assert (await watched.gateway.metrics())[SUCCESSFUL] == 0
        assert (await issue(watched.gateway)).status == 200
    (line,) = [record for record in caplog.records if record.name == "kvs.reload"]
    assert [problem["path"] for problem in line.fields["problems"]] == ["control.tokens[0]"]


async def test_a_section_that_needs_a_restart_is_named_and_unchanged(tmp_path, caplog):
    caplog.set_level("INFO")
    async with watching(tmp_path) as watched:
        await watched.reload(
            region="us-east-1",
            rate_limit={"requests_per_minute": 1},
            store={"kind": "memory", "max_bytes": 1},
        )
        gateway = watched.gateway
        assert [(await gateway.put("k", 1)).status for _ in range(3)] == [200, 200, 200]
        assert (await gateway.metrics())[SUCCESSFUL] == 1
    (done,) = [record for record in caplog.records if record.message == "the configuration was reloaded"]
    assert done.fields == {"needs_restart": ["region", "rate_limit", "store"]}


async def test_a_reload_that_changes_nothing_needs_no_restart(tmp_path, caplog):
    caplog.set_level("INFO")
    async with watching(tmp_path) as watched:
        await watched.reload()
    assert caplog.records[-1].fields == {"needs_restart": []}


async def test_signatures_are_not_switched_off_for_a_listener_that_everyone_reaches(tmp_path):
    """The file says loopback, but what listens was opened before."""
    public = {"data": {"host": "0.0.0.0"}}
    async with watching(tmp_path, listen=public) as watched:
        await watched.reload(signature={"mode": "off"}, listen={"data": {"host": "127.0.0.1"}})
        gateway = watched.gateway
        assert (await gateway.metrics())[SUCCESSFUL] == 0
        assert (await gateway.get("k", signer=None)).error == "missing_signature"


async def test_signatures_can_be_switched_on_again(tmp_path):
    async with watching(tmp_path, signature={"mode": "off"}) as watched:
        gateway = watched.gateway
        assert (await gateway.get("k", signer=None)).status == 200
        await watched.reload(signature={"mode": "required"})
        assert (await gateway.get("k", signer=None)).error == "missing_signature"
        assert (await gateway.get("k")).status == 200


async def test_calls_in_flight_end_under_the_policies_they_began_with(tmp_path):
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        call = await hanging_call(gateway)
        await watched.reload(apps=[], control={"tokens": []})
        gateway.faults.gate.set()
        assert (await call).status == 200


async def test_nothing_secret_is_logged_by_a_reload(tmp_path, caplog):
    caplog.set_level("DEBUG")
    async with watching(tmp_path) as watched:
        await watched.reload(**sessions("short-master-key"))
        await watched.reload(apps=declared({"name": "sessions", "token": "kvs_not-well-formed"}))
        await watched.reload(control={"tokens": ["two words"]})
    text = "\n".join(str(record.__dict__) for record in caplog.records)
    assert "not reloaded" in text
    for secret in ("short-master-key", "kvs_not-well-formed", "two words", TABLE_TOKEN, CONTROL_TOKEN):
        assert secret not in text


BLOG = "/v1/orgs/acme/apps/blog"
TABLES = f"{BLOG}/services/kvs/tables"


async def managed_table(gateway):
    """The token of a table of an app that is managed."""
    await gateway.manage("PUT", BLOG, {"type": "api"})
    return (await gateway.manage("POST", TABLES, {"name": "posts"})).json["token"]


@pytest.mark.parametrize("status", ["active", "inactive"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_while_an_app_is_declared_its_declaration_alone_counts(tmp_path, status, is_cached):
    declaration = {
        "org": "acme",
        "app": "blog",
        "type": "api",
        "status": status,
        "requests_per_minute": 3,
        "tables": [{"name": "posts", "token": "the-declared-token"}],
    }
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        token = await managed_table(gateway)
        if is_cached:
            await gateway.put("k", "managed", token=token)
        await watched.reload(apps=[*BASE["apps"], declaration])
        for _ in range(3):
            assert (await gateway.get("k", token=token)).error == "invalid_token"
        declared_answers = [(await gateway.get("k", token="the-declared-token")).status for _ in range(4)]
        admitted = 3 - is_cached  # the window of the app environment goes on
        expected = [200] * admitted + [429] * (4 - admitted) if status == "active" else [403] * 4
        assert declared_answers == expected
        assert (await gateway.manage("DELETE", f"{TABLES}/posts")).error == "declared_app"


async def test_a_managed_app_is_back_after_its_declaration_is_removed(tmp_path):
    declaration = {"org": "acme", "app": "blog", "type": "api", "tables": []}
    async with watching(tmp_path, apps=[*BASE["apps"], declaration]) as watched:
        gateway = watched.gateway
        await watched.reload()
        token = await managed_table(gateway)
        await gateway.put("k", "managed", token=token)
        await watched.reload(apps=[*BASE["apps"], declaration])
        assert (await gateway.get("k", token=token)).error == "invalid_token"
        assert (await gateway.manage("GET", TABLES)).json == []
        await watched.reload()
        assert (await gateway.get("k", token=token)).json["value"] == "managed"
        assert [table["name"] for table in (await gateway.manage("GET", TABLES)).json] == ["posts"]


async def test_no_cached_binding_outlives_a_reload_that_declares_its_app_even_if_the_store_is_down(tmp_path):
    declaration = {"org": "acme", "app": "blog", "type": "api", "status": "inactive", "tables": []}
    async with watching(tmp_path) as watched:
        gateway = watched.gateway
        token = await managed_table(gateway)
        assert (await gateway.get("k", token=token)).status == 200
        gateway.faults.fail = {"read", "list", "swap"}
        await watched.reload(apps=[*BASE["apps"], declaration])
        gateway.clock.advance(30_000)
        assert (await gateway.get("k", token=token)).error == "invalid_token"
