"""An app's variables as shell lines and as a Secret; credentials that AWS SDKs refresh."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from botocore.credentials import ProcessProvider
from botocore.exceptions import CredentialRetrievalError

from gateway.cli.formats import kubernetes_secret, shell_lines
from tests.cli.conftest import BLOG
from tests.support.config import ROLE

TABLE = {"org_id": "acme", "app_id": "shop", "env_id": "production", "name": "posts"}
VARIABLES = ["SERVICE_KVS_URL", "SERVICE_KVS_REGION", "SERVICE_KVS_TOKEN_POSTS"]


def _sourced(script: str, names: list[str]) -> list[str]:
    show = "\n".join(f'printf "%s\\0" "${name}"' for name in names)
    done = subprocess.run(
        ["/bin/sh", "-eu"], input=f"{script}\n{show}", capture_output=True, text=True, check=True
    )
    return done.stdout.split("\0")[:-1]


async def _create(blog, *options: str):
    return await blog("tables", "create", *BLOG, "--name", "posts", *options)


async def test_env_format_sets_the_three_variables_in_a_shell(blog, gateway):
    result = await _create(blog, "--format", "env")
    url, region, token = _sourced(result.out, VARIABLES)
    assert (result.code, url, region) == (0, "http://127.0.0.1:8080", "eu-central-1")
    assert (await gateway.put("k", 1, token=token)).status == 200


async def test_env_format_contains_only_export_lines(blog):
    lines = (await _create(blog, "--format", "env")).out.splitlines()
    assert [line.split("=")[0] for line in lines] == [f"export {name}" for name in VARIABLES]


async def test_kubernetes_format_is_a_secret_with_the_three_variables(blog, gateway):
    secret = yaml.safe_load((await _create(blog, "--format", "k8s-secret")).out)
    assert (secret["apiVersion"], secret["kind"], secret["type"]) == ("v1", "Secret", "Opaque")
    assert re.fullmatch("kvs-blog-production-posts-[0-9a-f]{8}", secret["metadata"]["name"])
    assert list(secret["stringData"]) == VARIABLES
    token = secret["stringData"]["SERVICE_KVS_TOKEN_POSTS"]
    assert (await gateway.put("k", 1, token=token)).status == 200


@pytest.mark.parametrize("form", ["env", "k8s-secret"])
async def test_rotate_prints_the_new_token_in_each_format(blog, gateway, form):
    old = (await _create(blog)).json["token"]
    printed = (await blog("tables", "rotate", *BLOG, "--name", "posts", "--format", form)).out
    assert old not in printed
    assert "SERVICE_KVS_TOKEN_POSTS" in printed


def _evaluated(printed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-ec", 'eval "$PRINTED"; echo continued'],
        env={"PRINTED": printed},
        capture_output=True,
        text=True,
        check=False,
    )


FAILING = [
    (4, ("tables", "create", *BLOG, "--name", "a-b")),
    (4, ("tables", "create", *BLOG, "--nam", "posts")),
    (4, ("tables", "list", *BLOG)),
    (3, ("tables", "rotate", *BLOG, "--name", "nothing")),
    (2, ("tables", "rotate", *BLOG, "--name", "posts")),
    (5, ("tables", "create", *BLOG, "--name", "posts", "--url", "http://127.0.0.1:1")),
]


@pytest.mark.parametrize("option", [("--format", "env"), ("--format=env",)])
@pytest.mark.parametrize(("code", "arguments"), FAILING, ids=str)
async def test_shell_that_evaluates_the_env_format_of_a_failed_command_fails(
    blog, monkeypatch, code, arguments, option
):
    if code == 2:
        monkeypatch.delenv("KVS_CONTROL_TOKEN")
    failed = await blog(*arguments, *option)
    done = _evaluated(failed.out)
    assert (failed.code, done.returncode, done.stdout, done.stderr) == (code, code, "", "")


async def test_failed_command_prints_nothing_in_other_formats(blog):
    for form in ("json", "k8s-secret"):
        assert (await blog("tables", "rotate", *BLOG, "--name", "nothing", "--format", form)).out == ""


async def test_if_missing_prints_a_new_table_with_its_token(blog):
    created = await _create(blog, "--if-missing")
    assert set(created.json) == {"table", "token", "runtime"}


async def test_if_missing_prints_an_existing_table_without_its_token_and_changes_nothing(blog, gateway):
    created = (await _create(blog, "--minute-limit", "50")).json
    again = await _create(blog, "--if-missing", "--minute-limit", "5")
    assert (again.code, again.json) == (0, {"table": created["table"]})
    assert (await gateway.get("k", token=created["token"])).status == 200


@pytest.mark.parametrize("form", ["env", "k8s-secret"])
async def test_if_missing_fails_for_an_existing_table_in_formats_that_need_its_token(blog, form):
    await _create(blog)
    again = await _create(blog, "--if-missing", "--format", form)
    assert (again.code, again.error["error"]) == (4, "table_exists")
    assert "tables rotate" in again.error["next"]


async def test_if_missing_fails_if_only_the_case_of_the_name_differs(blog):
    await _create(blog)
    again = await blog("tables", "create", *BLOG, "--name", "POSTS", "--if-missing")
    assert (again.code, again.error["error"]) == (4, "table_exists")


@pytest.mark.parametrize("value", ["a b", "it's", '"', "$(touch /tmp/x)", "`id`", "a\\b", "\n", "!", "*", ""])
def test_shell_sees_every_value_unchanged(value):
    assert _sourced(shell_lines({"NAME": value}), ["NAME"]) == [value]


@pytest.mark.parametrize("value", ["a: b", "yes", "1", "null", "#", "'", "\n", "{}", "&a", "1e3", ""])
def test_secret_holds_every_value_as_a_string(value):
    secret = yaml.safe_load(kubernetes_secret(TABLE, {"NAME": value}))
    assert secret["stringData"] == {"NAME": value}


async def test_aws_sdk_reads_issued_credentials_by_credential_process(run, gateway):
    printed = (await run("credentials", "issue", "--role", ROLE)).out
    issued = {**json.loads(printed), "Expiration": "2126-01-01T00:00:00.000Z"}
    program = f"import sys; sys.stdout.write({json.dumps(issued)!r})"
    command = shlex.join([sys.executable, "-c", program])
    provider = ProcessProvider("default", lambda: {"profiles": {"default": {"credential_process": command}}})
    frozen = provider.load().get_frozen_credentials()
    assert (frozen.access_key, frozen.secret_key) == (issued["AccessKeyId"], issued["SecretAccessKey"])
    assert frozen.token == issued["SessionToken"]


def test_aws_sdk_fails_if_no_credentials_were_issued():
    command = shlex.join(
        [
            sys.executable,
            "-m",
            "gateway",
            "credentials",
            "issue",
            "--role",
            ROLE,
            "--url",
            "http://127.0.0.1:1",
        ]
    )
    provider = ProcessProvider("default", lambda: {"profiles": {"default": {"credential_process": command}}})
    with pytest.raises(CredentialRetrievalError):
        provider.load()


def _secret_name(**changes: str) -> str:
    return yaml.safe_load(kubernetes_secret({**TABLE, **changes}, {}))["metadata"]["name"]


@pytest.mark.parametrize(
    "other",
    [{"org_id": "other"}, {"app_id": "Shop"}, {"app_id": "sh-op"}, {"name": "Posts"}, {"name": "posts_"}],
)
def test_secrets_of_different_tables_never_share_a_name(other):
    assert _secret_name(**other) != _secret_name()


@pytest.mark.parametrize(
    ("app", "env", "name"),
    [("My.App", "Prod_1", "Posts_"), ("a" * 64, "b" * 64, "c" * 32), ("a-", "b.", "_"), ("a", "b", "___")],
)
def test_name_of_a_secret_is_valid_in_kubernetes(app, env, name):
    label = _secret_name(app_id=app, env_id=env, name=name)
    assert re.fullmatch("[a-z0-9]([a-z0-9-]{0,251}[a-z0-9])?", label)
