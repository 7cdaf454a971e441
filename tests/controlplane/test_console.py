"""Files of the console: types, entity tags, security headers; other paths; sign-in issuers."""

import pytest

from gateway.controlplane.console import PATH, read_files
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway

TRUSTED = {"audience": "kvs-gateway", "jwks": "https://login.example.com/keys"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'{}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def trusting(*entries):
    return {"tokens": [CONTROL_TOKEN], "oidc": [{**TRUSTED, **entry} for entry in entries]}


async def fetch(gateway, path, method="GET", **headers):
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return await gateway.manage(method, path, token=None, headers=fields)


async def test_every_file_is_served_with_its_type_and_security_headers(gateway):
    for path, file in read_files().items():
        reply = await fetch(gateway, path)
        assert (reply.status, reply.body) == (200, file.body), path
        assert reply.headers["Content-Type"] == file.content_type
        assert reply.headers["Cache-Control"] == "no-cache"
        assert reply.headers["Content-Security-Policy"] == POLICY.format("")
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in reply.headers["Permissions-Policy"]


def test_the_suffix_of_a_file_decides_its_type(tmp_path):
    (tmp_path / "pages").mkdir()
    for name in ("index.html", "pages/app.js", "style.css", "icon.svg", "LICENSE.txt", "notes.py", ".hidden"):
        (tmp_path / name).write_text(name)
    types = {
        path.removeprefix(PATH): file.content_type.split(";")[0]
        for path, file in read_files(tmp_path).items()
    }
    assert types == {
        "": "text/html",
        "index.html": "text/html",
        "pages/app.js": "text/javascript",
        "style.css": "text/css",
        "icon.svg": "image/svg+xml",
        "LICENSE.txt": "text/plain",
    }


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
async def test_a_cached_file_is_not_sent_again(gateway, form):
    tag = (await fetch(gateway, PATH)).headers["ETag"]
    reply = await fetch(gateway, PATH, If_None_Match=form.format(tag))
    assert (reply.status, reply.body, reply.headers["ETag"]) == (304, b"", tag)
    assert "Content-Length" not in reply.headers
    assert "Content-Security-Policy" in reply.headers


async def test_a_different_entity_tag_gets_the_file(gateway):
    assert (await fetch(gateway, PATH, If_None_Match='"other"')).status == 200


async def test_head_has_the_header_fields_of_get(gateway):
    got, head = await fetch(gateway, PATH), await fetch(gateway, PATH, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(got.body))


@pytest.mark.parametrize("host", ["evil.example.com", "a@b", '"><script>'])
async def test_the_path_without_a_slash_redirects_to_the_console_and_to_no_other_host(host):
    head = f"GET /console?x=//evil.example.com HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    async with run_gateway({"listen": {"control": {"hosts": ["evil.example.com"]}}}) as gateway:
        received = await gateway.send_raw(head, listener="control")
    if host == "evil.example.com":
        assert received.startswith(b"HTTP/1.1 308 ")
        assert b"\r\nLocation: /console/\r\n" in received
        assert b"\r\nContent-Security-Policy: default-src 'none';" in received
    else:
        assert received.split()[1] in (b"400", b"403")
    assert b"evil" not in received


@pytest.mark.parametrize(
    "path",
    [
        "/console/nothing.js",
        "/console/../v1/orgs",
        "/console/..%2f..%2fapp.py",
        "/console/%2e%2e/app.py",
        "/console//index.html",
        "/console/index.html/",
        "/console/index.html%00.js",
        "/console/pages/",
        "/console/\\..\\app.py",
        "/console/INDEX.HTML",
        "/console/" + "a/" * 3000,
    ],
)
async def test_any_other_path_is_404_in_json(gateway, path):
    received = await gateway.send_raw(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(), listener="control"
    )
    assert received.startswith(b"HTTP/1.1 404")
    assert received.endswith(b'{"error":"not_found"}')
    assert b"Cache-Control: no-store" in received


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/console/nothing.js", 404),
        ("POST", PATH, 405),
        ("GET", "/v1/sign-in", 200),
        ("POST", "/v1/sign-in", 405),
    ],
)
async def test_refusals_have_the_same_security_headers(gateway, method, path, status):
    reply = await fetch(gateway, path, method)
    assert reply.status == status
    assert reply.headers.getall("Content-Security-Policy") == [POLICY.format("")]
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_files_allow_reading_methods_only(gateway, method):
    reply = await fetch(gateway, PATH, method)
    assert (reply.status, reply.error, reply.headers["Allow"]) == (405, "method_not_allowed", "GET, HEAD")


async def test_a_disabled_console_is_404():
    async with run_gateway({"console": {"enabled": False}}) as gateway:
        for path in ("/console", PATH, PATH + "index.html"):
            assert (await fetch(gateway, path)).status == 404


async def test_control_plane_responses_are_not_cacheable(gateway):
    for token in (CONTROL_TOKEN, "wrong"):
        reply = await gateway.manage("GET", "/v1/whoami", token=token)
        assert reply.headers["Cache-Control"] == "no-store"


async def test_requests_without_a_token_are_counted(gateway):
    await fetch(gateway, PATH)
    await fetch(gateway, PATH + "nothing")
    await fetch(gateway, "/v1/sign-in")
    counted = await gateway.metrics()
    shown = {
        (action, outcome): counted[f'kvs_control_requests_total{{action="{action}",outcome="{outcome}"}}']
        for action, outcome in (
            ("console.file", "done"),
            ("console.file", "refused"),
            ("sign_in.show", "done"),
        )
    }
    assert set(shown.values()) == {1}


async def test_without_issuers_the_sign_in_list_is_empty(gateway):
    assert (await fetch(gateway, "/v1/sign-in")).json == []


async def test_anonymous_callers_see_issuer_and_client_only():
    control = trusting(
        {"issuer": "https://login.example.com/realms/a"},
        {"issuer": "https://id.example.com:8443", "client_id": "console"},
    )
    async with run_gateway({"control": control}) as gateway:
        reply = await fetch(gateway, "/v1/sign-in")
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "no-store")
        assert reply.json == [
            {"issuer": "https://login.example.com/realms/a", "client_id": "kvs-gateway", "scope": "openid"},
            {"issuer": "https://id.example.com:8443", "client_id": "console", "scope": "openid"},
        ]
        policy = (await fetch(gateway, PATH)).headers["Content-Security-Policy"]
        assert policy == POLICY.format(" https://login.example.com https://id.example.com:8443")
        assert (await fetch(gateway, "/v1/sign-in", "POST")).headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "issuer",
    [
        "https://a.example.com; script-src *",
        "https://<script>alert(1)</script>",
        "https://a.example.com'",
        "https://user@a.example.com",
        "https://a.example.com/?x=1",
        "https://*.example.com",
        "http://a.example.com",
        "javascript:alert(1)",
        "kubernetes/serviceaccount",
    ],
)
async def test_an_issuer_without_a_safe_url_is_neither_listed_nor_in_the_policy(issuer):
    async with run_gateway({"control": trusting({"issuer": issuer})}) as gateway:
        assert (await fetch(gateway, "/v1/sign-in")).json == []
        assert (await fetch(gateway, PATH)).headers["Content-Security-Policy"] == POLICY.format("")


async def test_an_issuer_on_this_machine_needs_no_tls():
    async with run_gateway({"control": trusting({"issuer": "http://127.0.0.1:9000/x"})}) as gateway:
        assert (await fetch(gateway, "/v1/sign-in")).json[0]["issuer"] == "http://127.0.0.1:9000/x"
        policy = (await fetch(gateway, PATH)).headers["Content-Security-Policy"]
        assert "connect-src 'self' http://127.0.0.1:9000;" in policy


async def test_a_reload_replaces_the_issuers(tmp_path):
    async with watching(tmp_path, control=trusting({"issuer": "https://a.example.com"})) as watched:
        await watched.reload(control=trusting({"issuer": "https://b.example.com"}))
        assert [each["issuer"] for each in (await fetch(watched.gateway, "/v1/sign-in")).json] == [
            "https://b.example.com"
        ]
        assert "https://a." not in (await fetch(watched.gateway, PATH)).headers["Content-Security-Policy"]
