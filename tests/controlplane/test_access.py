"""Authentication, unknown paths and methods, hostile names, and a failing store."""

import pytest

from tests.controlplane.paths import APPS, BLOG, CREDENTIALS, TABLES
from tests.support.config import CONTROL_TOKEN, TABLE_TOKEN
from tests.support.gateway import run_gateway

CALLS = [
    ("GET", APPS),
    ("GET", BLOG),
    ("PUT", BLOG),
    ("PATCH", BLOG),
    ("DELETE", BLOG),
    ("POST", f"{BLOG}/suspend"),
    ("POST", f"{BLOG}/resume"),
    ("GET", TABLES),
    ("POST", TABLES),
    ("GET", f"{TABLES}/posts"),
    ("PATCH", f"{TABLES}/posts"),
    ("DELETE", f"{TABLES}/posts"),
    ("POST", f"{TABLES}/posts/rotate"),
    ("POST", f"{TABLES}/posts/upgrade"),
    ("POST", CREDENTIALS),
]
ALLOWED = {
    APPS: "GET",
    BLOG: "GET, PUT, PATCH, DELETE",
    f"{BLOG}/suspend": "POST",
    f"{BLOG}/resume": "POST",
    TABLES: "GET, POST",
    f"{TABLES}/posts": "GET, PATCH, DELETE",
    f"{TABLES}/posts/rotate": "POST",
    f"{TABLES}/posts/upgrade": "POST",
    CREDENTIALS: "POST",
}
REFUSED = [
    (path, method) for path, allowed in ALLOWED.items() for method in ("GET", "PUT", "PATCH", "OPTIONS")
]
NOWHERE = [
    "/",
    "/v1",
    "/v2/orgs/acme/apps",
    "/v1/orgs/",
    "/v1/orgs/acme",
    f"{APPS}/",
    f"{BLOG}/",
    f"{TABLES}/",
]
NOWHERE += [
    "/v1/put",
    "/metrics",
    "/readyz",
    "//v1/orgs/acme/apps",
    f"{BLOG}/services",
    f"{TABLES}/a/b",
    f"{BLOG}/stop",
]
HOSTILE = [
    "%2e%2e",
    "..%2f..",
    "a%00b",
    "%",
    "%zz",
    "a%2Fb",
    "'",
    "a;b",
    "a\\b",
    "a%0d%0aX:1",
    "%F0%9F%92%A9",
    "a" * 65,
]


async def _send(gateway, *headers: str, path: str = APPS, method: str = "GET", body: str = "") -> bytes:
    start = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    text = "\r\n".join([*start, *headers, "", body])
    return await gateway.send_raw(text.encode("latin-1"), listener="control")


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_no_call_works_without_a_control_token(gateway, method, path):
    reply = await gateway.manage(method, path, token=None)
    assert (reply.status, reply.json) == (401, {"error": "missing_token"})


@pytest.mark.parametrize(("method", "path"), CALLS)
@pytest.mark.parametrize(
    "token", ["wrong", CONTROL_TOKEN + "x", CONTROL_TOKEN[:-1], TABLE_TOKEN, CONTROL_TOKEN.upper()]
)
async def test_no_call_works_with_a_wrong_control_token(gateway, method, path, token):
    reply = await gateway.manage(method, path, token=token)
    assert (reply.status, reply.json) == (401, {"error": "invalid_token"})


@pytest.mark.parametrize(
    "field", [f"Basic {CONTROL_TOKEN}", CONTROL_TOKEN, "Bearer", "Bearer ", f"Bearer{CONTROL_TOKEN}"]
)
async def test_the_token_must_be_a_bearer_token(gateway, field):
    assert b"401 Unauthorized" in await _send(gateway, f"Authorization: {field}")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_is_case_insensitive(gateway, scheme):
    assert b"200 OK" in await _send(gateway, f"authorization: {scheme} {CONTROL_TOKEN}")


async def test_two_authorization_headers_are_refused_even_if_both_are_right(gateway):
    field = f"Authorization: Bearer {CONTROL_TOKEN}"
    assert b"401 Unauthorized" in await _send(gateway, field, field)


async def test_each_configured_token_is_accepted():
    tokens = ["first-control-token", "second-control-token"]
    async with run_gateway({"control": {"tokens": tokens}}) as gateway:
        for token in tokens:
            assert (await gateway.manage("GET", APPS, token=token)).status == 200
        assert (await gateway.manage("GET", APPS, token=",".join(tokens))).status == 401


async def test_without_a_configured_token_every_call_is_refused():
    async with run_gateway({"control": {"tokens": []}}) as gateway:
        assert (await gateway.manage("GET", APPS)).status == 401
        assert b"401" in await _send(gateway, "Authorization: Bearer ")


@pytest.mark.parametrize("path", NOWHERE)
async def test_an_unknown_path_is_404(gateway, path):
    reply = await gateway.manage("GET", path)
    assert (reply.status, reply.json) == (404, {"error": "not_found"})


@pytest.mark.parametrize(
    ("path", "method"), [each for each in REFUSED if each[1] not in ALLOWED[each[0]].split(", ")]
)
async def test_an_unknown_method_is_405_and_lists_the_allowed_ones(gateway, path, method):
    reply = await gateway.manage(method, path)
    assert (reply.status, reply.json) == (405, {"error": "method_not_allowed"})
    assert reply.headers["Allow"] == ALLOWED[path]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("path", ["/v1/orgs/{}/apps/blog", f"{APPS}/{{}}", f"{BLOG}?env={{}}"])
async def test_a_hostile_name_is_refused_and_stores_nothing(gateway, path, name):
    authorization = f"Authorization: Bearer {CONTROL_TOKEN}"
    answer = await _send(gateway, authorization, path=path.format(name), method="PUT", body='{"type": "api"}')
    assert answer.split()[1] in (b"400", b"404", b"422")
    assert answer.endswith(b"}")
    swapped = {name for operation, name in gateway.faults.calls if operation == "swap"}
    assert swapped <= {"memory/bindings"}


async def test_dots_in_a_path_lead_nowhere(gateway):
    answer = await _send(
        gateway, f"Authorization: Bearer {CONTROL_TOKEN}", path="/v1/orgs/acme/apps/../../.."
    )
    assert answer.split()[1] in (b"404", b"422")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", BLOG), ("GET", "/nowhere"), ("POST", APPS), ("DELETE", BLOG)]
)
async def test_every_answer_is_json_with_a_request_id(gateway, method, path):
    reply = await gateway.manage(method, path)
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.headers["x-request-id"]


@pytest.mark.parametrize(("method", "path"), [call for call in CALLS if call[1] != CREDENTIALS])
async def test_every_call_is_503_with_retry_after_while_the_store_is_down(gateway, method, path):
    gateway.faults.fail = {"*"}
    reply = await gateway.manage(
        method, path, {"type": "api", "name": "posts"} if method in ("PUT", "POST") else None
    )
    assert (reply.status, reply.json) == (503, {"error": "auth_unavailable"})
    assert reply.headers["Retry-After"] == "1"
