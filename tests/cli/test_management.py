"""Management commands call the control listener and print JSON on standard output."""

import datetime as dt

import pytest

from gateway.directory.records import AppRecord, app_name, encode
from gateway.domain.model import Environment
from tests.cli.conftest import BLOG
from tests.controlplane.paths import BLOG as BLOG_PATH
from tests.support.config import ROLE
from tests.support.signing import Signer

APP = {
    "id": "blog",
    "name": "blog",
    "org_id": "acme",
    "app_id": "blog",
    "env_id": "production",
    "type": "api",
    "status": "inactive",
    "requests_per_minute": 600,
    "max_tables": 3,
    "max_bytes": None,
}


async def test_register_prints_the_app(run):
    result = await run("apps", "register", *BLOG, "--type", "api")
    assert (result.code, result.json, result.err) == (0, APP, "")


async def test_register_accepts_limits(run):
    limits = ("--requests-per-minute", "60", "--max-tables", "1", "--max-bytes", "1073741824")
    result = await run("apps", "register", *BLOG, "--type", "sse", *limits)
    limited = {"requests_per_minute": 60, "max_tables": 1, "max_bytes": 1_073_741_824}
    assert result.json == {**APP, "type": "sse", **limited}


async def test_register_updates_only_the_given_fields_of_an_existing_app(run):
    limits = ("--requests-per-minute", "60", "--max-tables", "1")
    before = (await run("apps", "register", *BLOG, "--type", "api", *limits)).json
    assert (await run("apps", "register", *BLOG, "--type", "sse")).json == {**before, "type": "sse"}


async def test_concurrent_register_updates_only_the_given_fields(run, gateway, monkeypatch):
    directory = gateway.app.directory.directory
    register = directory.register

    async def second(app, **options):
        monkeypatch.setattr(directory, "register", register)
        await gateway.manage("PUT", BLOG_PATH, {"type": "sse", "max_tables": 7})
        return await register(app, **options)

    monkeypatch.setattr(directory, "register", second)
    named = ("--type", "api", "--requests-per-minute", "60")
    result = await run("apps", "register", *BLOG, *named)
    assert result.json == {**APP, "requests_per_minute": 60, "max_tables": 7}


async def test_register_resets_a_limit_by_default(run):
    await run("apps", "register", *BLOG, "--type", "api", "--requests-per-minute", "60", "--max-tables", "1")
    again = await run("apps", "register", *BLOG, "--type", "api", "--requests-per-minute", "default")
    assert (again.json["requests_per_minute"], again.json["max_tables"]) == (600, 1)


@pytest.mark.parametrize(
    ("option", "changed"),
    [
        (("--type", "sse"), {"type": "sse"}),
        (("--requests-per-minute", "70"), {"requests_per_minute": 70}),
        (("--max-tables", "0"), {"max_tables": 0}),
        (("--max-tables", "default"), {"max_tables": 3}),
        (("--max-bytes", "4096"), {"max_bytes": 4096}),
        (("--max-bytes", "default"), {"max_bytes": None}),
    ],
)
async def test_set_updates_only_the_given_fields_of_an_app(run, option, changed):
    limits = ("--requests-per-minute", "60", "--max-tables", "1")
    before = (await run("apps", "register", *BLOG, "--type", "api", *limits)).json
    assert (await run("apps", "set", *BLOG, *option)).json == {**before, **changed}


async def test_set_without_fields_exits_4_and_names_them(blog):
    result = await blog("apps", "set", *BLOG)
    assert (result.code, result.error["error"]) == (4, "usage")
    assert "--requests-per-minute" in result.error["detail"]


async def test_list_prints_the_apps_of_an_organization(blog):
    result = await blog("apps", "list", "--org", "acme")
    assert [app["app_id"] for app in result.json] == ["blog", "shop"]


async def test_list_prints_the_apps_of_all_pages(run, gateway):
    for number in range(1001):
        await gateway.app.stores.records.swap(*stored_app(f"app{number:04d}"))
    listed = (await run("apps", "list", "--org", "acme")).json
    assert [app["app_id"] for app in listed] == [*(f"app{number:04d}" for number in range(1001)), "shop"]


async def test_list_prints_all_organizations(blog):
    await blog("apps", "register", "--org", "other", "--app", "a", "--type", "api")
    listed = (await blog("orgs", "list")).json
    assert listed == [{"id": "acme", "name": "acme"}, {"id": "other", "name": "other"}]


async def test_whoami_prints_owner_and_permissions_of_the_token(run):
    shown = (await run("whoami")).json
    assert (shown["name"], shown["allow"]) == ("token-1", ["read", "tables", "apps", "credentials"])


async def test_show_prints_the_app(blog):
    assert (await blog("apps", "show", *BLOG)).json == APP


async def test_suspend_and_resume_print_the_app(blog):
    assert (await blog("apps", "suspend", *BLOG)).json["status"] == "inactive"
    assert (await blog("apps", "resume", *BLOG)).json["status"] == "active"


async def test_remove_prints_done(blog):
    result = await blog("apps", "remove", *BLOG, "--yes")
    assert (result.code, result.json) == (0, {"done": True})
    assert (await blog("apps", "show", *BLOG)).code == 3


async def test_default_environment_is_production(blog):
    await blog("apps", "register", *BLOG, "--env", "test", "--type", "sse")
    assert (await blog("apps", "show", *BLOG, "--env", "test")).json["type"] == "sse"
    assert (await blog("apps", "show", *BLOG)).json["type"] == "api"
    assert (await blog("apps", "show", *BLOG, "--env", "production")).json["type"] == "api"


async def test_create_prints_the_token_and_the_variables(blog):
    result = await blog("tables", "create", *BLOG, "--name", "posts", "--minute-limit", "60")
    assert set(result.json) == {"table", "token", "runtime"}
    assert result.json["table"]["minute_limit"] == 60


async def test_list_prints_the_tables(blog):
    assert (await blog("tables", "list", *BLOG)).json == []
    await blog("tables", "create", *BLOG, "--name", "posts")
    assert [table["name"] for table in (await blog("tables", "list", *BLOG)).json] == ["posts"]


async def test_show_prints_the_table(blog):
    created = (await blog("tables", "create", *BLOG, "--name", "posts")).json
    assert (await blog("tables", "show", *BLOG, "--name", "posts")).json == created["table"]


async def test_stats_prints_the_count_of_a_table(blog, gateway):
    token = (await blog("tables", "create", *BLOG, "--name", "posts")).json["token"]
    await gateway.put("key", 1, token=token)
    counted = (await blog("tables", "stats", *BLOG, "--name", "posts")).json
    assert counted == {"entries": 1, "bytes": 4, "counted_at": counted["counted_at"], "exact": True}
    assert counted["counted_at"].endswith("Z")


async def test_set_changes_the_limit_of_a_table(blog):
    created = (await blog("tables", "create", *BLOG, "--name", "posts")).json
    for limit, shown in (("5", 5), ("default", 600)):
        result = await blog("tables", "set", *BLOG, "--name", "posts", "--minute-limit", limit)
        assert result.json == {**created["table"], "minute_limit": shown}


async def test_rotate_prints_a_new_token(blog, gateway):
    old = (await blog("tables", "create", *BLOG, "--name", "posts")).json["token"]
    new = (await blog("tables", "rotate", *BLOG, "--name", "posts")).json["token"]
    assert (await gateway.get("k", token=old)).status == 401
    assert (await gateway.get("k", token=new)).status == 200


async def test_rotate_with_overlap_keeps_the_old_token_valid_until_it_ends(blog, gateway):
    old = (await blog("tables", "create", *BLOG, "--name", "posts")).json["token"]
    await blog("tables", "rotate", *BLOG, "--name", "posts", "--overlap-seconds", "60")
    assert (await gateway.get("k", token=old)).status == 200
    gateway.clock.advance(60_000)
    assert (await gateway.get("k", token=old)).status == 401


async def test_delete_prints_done(blog):
    await blog("tables", "create", *BLOG, "--name", "posts")
    result = await blog("tables", "delete", *BLOG, "--name", "posts", "--yes")
    assert (result.code, result.json) == (0, {"done": True})
    assert (await blog("tables", "list", *BLOG)).json == []


async def test_credentials_expire_after_an_hour_by_default(run, gateway):
    issued = (await run("credentials", "issue", "--role", ROLE)).json
    assert dt.datetime.fromisoformat(issued["Expiration"]) == _in_seconds(gateway, 3600)


async def test_credentials_expire_after_the_given_ttl(run, gateway):
    issued = (await run("credentials", "issue", "--role", ROLE, "--ttl", "900")).json
    assert dt.datetime.fromisoformat(issued["Expiration"]) == _in_seconds(gateway, 900)


@pytest.mark.parametrize(("app", "status"), [("shop", 200), ("blog", 403)])
async def test_credentials_can_be_bound_to_an_app_environment(run, gateway, app, status):
    issued = (await run("credentials", "issue", "--role", ROLE, "--org", "acme", "--app", app)).json
    signer = Signer(issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
    assert (await gateway.get("k", signer=signer)).status == status


async def test_url_option_overrides_the_variable(run, gateway, monkeypatch):
    monkeypatch.setenv("KVS_CONTROL_URL", "http://127.0.0.1:1")
    result = await run("apps", "list", "--org", "acme", "--url", gateway.control + "/")
    assert result.code == 0


async def test_line_break_after_the_control_token_is_ignored(run, monkeypatch):
    monkeypatch.setenv("KVS_CONTROL_TOKEN", "test-control-token\n")
    assert (await run("apps", "list", "--org", "acme")).code == 0


async def test_proxy_variables_are_ignored(run, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await run("apps", "list", "--org", "acme")).code == 0


def stored_app(app: str) -> tuple[str, bytes, None]:
    """Returns name, document and previous version of a record: registering a thousand apps takes long."""
    record = AppRecord(environment=Environment("acme", app, "production"), type="api", active=True)
    return app_name(record.environment), encode(record), None


def _in_seconds(gateway, seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(gateway.clock.wall_ms() / 1000 + seconds, dt.UTC)
