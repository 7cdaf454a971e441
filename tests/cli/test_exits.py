"""Errors are JSON on standard error, with a detail for people; exit codes show their kind."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from gateway.cli import management
from gateway.directory.apps import changes
from tests.cli.conftest import BLOG
from tests.support.accepting import stop_accepting
from tests.support.config import CONTROL_TOKEN, ROLE

TABLE = (*BLOG, "--name", "posts")
USAGE = [
    (),
    ("frobnicate",),
    ("serve",),
    ("check",),
    ("serve", "--config"),
    ("version", "--loud"),
    ("apps",),
    ("apps", "frobnicate"),
    ("apps", "list"),
    ("apps", "show", "--org", "acme"),
    ("apps", "register", *BLOG),
    ("apps", "register", *BLOG, "--type", "api", "--max-tables", "many"),
    ("apps", "register", *BLOG, "--typ", "api"),
    ("apps", "set", *BLOG, "--max-tables", "1.5"),
    ("tables", "set", *TABLE),
    ("apps", "remove", *BLOG),
    ("tables", "create", *BLOG),
    ("tables", "create", *TABLE, "--format", "xml"),
    ("tables", "rotate", *TABLE, "--overlap-seconds", "1.5"),
    ("tables", "delete", *TABLE),
    ("tables", "upgrade"),
    ("tables", "upgrade", "--all", "--org", "acme"),
    ("credentials", "issue"),
    ("credentials", "issue", "--role", ROLE, "--ttl", "long"),
]
INVALID = [
    (("apps", "register", *BLOG, "--type", "API"), "invalid_type"),
    (("apps", "register", *BLOG, "--type", "api", "--max-tables", "-1"), "invalid_max_tables"),
    (
        ("apps", "register", *BLOG, "--type", "api", "--requests-per-minute", "0"),
        "invalid_requests_per_minute",
    ),
    (("apps", "show", "--org", "a/b", "--app", "blog"), "invalid_name"),
    (("apps", "show", *BLOG, "--env", "a&b"), "invalid_name"),
    (("apps", "suspend", "--org", "acme", "--app", "shop"), "declared_app"),
    (("apps", "set", *BLOG, "--type", "API"), "invalid_type"),
    (("tables", "create", *BLOG, "--name", "a-b"), "invalid_name"),
    (("apps", "set", "--org", "acme", "--app", "shop", "--max-tables", "9"), "declared_app"),
    (("tables", "create", *TABLE, "--minute-limit", "0"), "invalid_minute_limit"),
    (("tables", "rotate", *TABLE, "--overlap-seconds", "-1"), "invalid_overlap_seconds"),
    (("tables", "upgrade", "--all", "--name", "posts"), "usage"),
    (("tables", "upgrade", "--org", "acme", "--name", "posts"), "usage"),
    (("tables", "upgrade", "--org", "acme", "--env", "test"), "usage"),
    (("credentials", "issue", "--role", "nobody"), "role_not_approved"),
    (("credentials", "issue", "--role", ROLE, "--ttl", "999999"), "invalid_ttl"),
    (("credentials", "issue", "--role", ROLE, "--org", "acme"), "invalid_name"),
]
MISSING = [
    (("apps", "show", "--org", "acme", "--app", "nowhere"), "app_not_found"),
    (("apps", "remove", "--org", "acme", "--app", "nowhere", "--yes"), "app_not_found"),
    (("tables", "list", *BLOG, "--env", "test"), "app_not_found"),
    (("apps", "set", "--org", "acme", "--app", "nowhere", "--type", "api"), "app_not_found"),
    (("tables", "show", *TABLE), "table_not_found"),
    (("tables", "stats", *TABLE), "table_not_found"),
    (("tables", "set", *TABLE, "--minute-limit", "5"), "table_not_found"),
    (("tables", "rotate", *TABLE), "table_not_found"),
    (("tables", "upgrade", *TABLE), "table_not_found"),
    (("tables", "delete", *TABLE, "--yes"), "table_not_found"),
    (("tables", "delete", *BLOG, "--name", "a/../b", "--yes"), "table_not_found"),
]


@asynccontextmanager
async def _server(answer: bytes):
    """Runs a server that answers every connection with these bytes."""

    async def answer_once(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(answer_once, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await stop_accepting(server)


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
async def test_mistake_in_arguments_exits_4_with_usage(command, arguments):
    result = await command(*arguments)
    assert (result.code, result.out, result.error["error"]) == (4, "", "usage")
    assert result.error["detail"]
    assert result.error["usage"].startswith("usage: kvs-gateway")


@pytest.mark.parametrize(("arguments", "code"), INVALID, ids=str)
async def test_invalid_request_exits_4(blog, arguments, code):
    result = await blog(*arguments)
    assert (result.code, result.out, result.error["error"]) == (4, "", code)


async def test_error_quotes_a_name_as_typed_and_explains_it_in_words(run):
    result = await run("apps", "show", "--org", "acme corp", "--app", "a/b")
    assert "acme corp" in result.error["detail"]
    assert "letters, digits" in result.error["detail"]


@pytest.mark.parametrize(("arguments", "code"), MISSING, ids=str)
async def test_missing_app_or_table_exits_3(blog, arguments, code):
    result = await blog(*arguments)
    assert (result.code, result.out, result.refusal) == (3, "", {"error": code, "status": 404})


async def test_conflict_exits_4(blog):
    await blog("tables", "create", *TABLE)
    result = await blog("tables", "create", *TABLE)
    assert (result.code, result.refusal) == (4, {"error": "table_exists", "status": 409})


async def test_wrong_control_token_exits_2(run, monkeypatch):
    monkeypatch.setenv("KVS_CONTROL_TOKEN", "wrong")
    result = await run("apps", "list", "--org", "acme")
    assert (result.code, result.error["error"], result.error["status"]) == (2, "invalid_token", 401)


@pytest.mark.parametrize("token", [None, ""])
async def test_missing_control_token_exits_2_and_names_the_variable(command, monkeypatch, token):
    monkeypatch.delenv("KVS_CONTROL_TOKEN")
    if token is not None:
        monkeypatch.setenv("KVS_CONTROL_TOKEN", token)
    result = await command("apps", "list", "--org", "acme")
    detail = "KVS_CONTROL_TOKEN is not set: set it to a control token"
    assert (result.code, result.error) == (2, {"error": "missing_token", "detail": detail})


async def test_error_at_the_default_url_names_the_variable_that_is_not_set(command, monkeypatch):
    monkeypatch.setattr(management, "DEFAULT_URL", "http://127.0.0.1:1")
    result = await command("apps", "list", "--org", "acme")
    assert (result.code, result.error["url"]) == (5, "http://127.0.0.1:1")
    assert "KVS_CONTROL_URL is not set" in result.error["detail"]


async def test_store_outage_exits_1(run, gateway):
    gateway.faults.fail = {"*"}
    result = await run("apps", "show", *BLOG)
    assert (result.code, result.refusal) == (1, {"error": "auth_unavailable", "status": 503})


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
async def test_unreachable_control_listener_exits_5(command, url):
    result = await command("apps", "list", "--org", "acme", "--url", url)
    assert (result.code, result.out, result.error["error"]) == (5, "", "network")
    assert result.error["url"] == url
    assert result.error["detail"].startswith(f"nothing listens at {url}: ")
    assert "KVS_CONTROL_URL" not in result.error["detail"]
    assert CONTROL_TOKEN not in result.err


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8081",
        "ftp://localhost",
        "file:///etc/passwd",
        "http://",
        "http://x:port",
        "http://x:99999",
        "http://a b",
        "http://a\x1b[2J",
        "http://.",
        "http://x?y",
        "http://x#y",
    ],
)
async def test_malformed_url_exits_4(command, url):
    result = await command("apps", "list", "--org", "acme", "--url", url)
    assert (result.code, result.error["error"]) == (4, "invalid_url")
    assert repr(url) in result.error["detail"]


async def test_url_with_a_password_exits_4_and_is_not_printed(command):
    result = await command("apps", "list", "--org", "acme", "--url", "http://user:secret@localhost")
    assert (result.code, result.error["error"]) == (4, "invalid_url")
    assert "secret" not in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("apps", "list", "--org", "\udcff"),
        ("tables", "show", *BLOG, "--name", "\udcff"),
        ("credentials", "issue", "--role", "\udcff"),
        ("whoami", "--url", "\udcff"),
        (
            "usage",
            "--prometheus",
            "http://x",
            "--from",
            "2026-11-01",
            "--to",
            "2026-11-02",
            "--match",
            "\udcff",
        ),
    ],
    ids=lambda arguments: arguments[0],
)
async def test_argument_that_is_not_utf_8_exits_4(command, arguments):
    result = await command(*arguments)
    assert (result.code, result.out, result.error["error"]) == (4, "", "usage")
    assert "not valid UTF-8" in result.error["detail"]


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-server\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 500 No\r\n\r\n<html>",
    ],
)
async def test_server_that_is_no_control_listener_exits_1(command, answer):
    async with _server(answer) as url:
        result = await command("apps", "list", "--org", "acme", "--url", url)
    assert (result.code, result.error["error"], result.error["url"]) == (1, "unexpected_answer", url)
    assert "not a control listener" in result.error["detail"]


async def test_data_listener_exits_3_and_the_next_step_is_to_check_the_url(run, gateway):
    result = await run("whoami", "--url", gateway.data)
    assert (result.code, result.error["error"]) == (3, "not_found")
    assert result.error["next"] == f"check that {gateway.data} is the control listener"


async def test_redirect_is_not_followed(run, gateway):
    answer = f"HTTP/1.1 302 Found\r\nLocation: {gateway.control}/v1/orgs/acme/apps\r\n\r\n"
    async with _server(answer.encode()) as url:
        result = await run("apps", "list", "--org", "acme", "--url", url)
    assert (result.code, result.refusal) == (1, {"error": "unexpected_answer", "status": 302, "url": url})


@pytest.mark.parametrize("token", ["secret\r\nX-Other: 1", "secret token", "sécret"])
async def test_malformed_control_token_exits_4_and_is_not_printed(command, monkeypatch, token):
    monkeypatch.setenv("KVS_CONTROL_TOKEN", token)
    result = await command("apps", "list", "--org", "acme")
    assert (result.code, result.error["error"]) == (4, "invalid_control_token")
    assert "cret" not in result.err


UNKNOWN = [
    (("tables", "create", *BLOG, "--name", "more"), "tables rotate"),
    (("tables", "rotate", *TABLE), "repeat"),
    (("tables", "delete", *TABLE, "--yes"), "table_not_found"),
    (("tables", "set", *TABLE, "--minute-limit", "5"), "repeat"),
    (("apps", "register", *BLOG, "--type", "sse"), "repeat"),
    (("apps", "suspend", *BLOG), "repeat"),
    (("apps", "remove", *BLOG, "--yes"), "app_not_found"),
]


@pytest.mark.parametrize(("arguments", "step"), UNKNOWN, ids=lambda each: str(each[:2]))
async def test_report_of_a_change_that_may_have_been_applied_has_the_next_step(
    gateway, blog, monkeypatch, arguments, step
):
    await blog("tables", "create", *TABLE)
    monkeypatch.setattr(changes, "_FIND_OUT_SECONDS", 0)
    gateway.faults.lose = {"app/acme/blog/production"}
    failed = await blog(*arguments)
    assert (failed.code, failed.error["error"]) == (1, "auth_unavailable")
    assert "not known" in failed.error["detail"]
    assert step in failed.error["next"]


async def test_report_of_a_change_that_was_not_applied_has_no_next_step(gateway, blog):
    gateway.faults.fail = {"*"}
    failed = await blog("apps", "suspend", *BLOG)
    assert "nothing was changed" in failed.error["detail"]
    assert "next" not in failed.error
