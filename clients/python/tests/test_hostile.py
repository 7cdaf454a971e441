"""Whatever a server answers, a call ends with a result or an error of this package, without the secrets."""

import asyncio
import gzip
import json

import pytest
from botocore.credentials import Credentials
from hostile import HostileServer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from kvs_client import AsyncClient, Client, Configuration, Entry, KvsError, Options

TOKEN, SESSION = "kvs_hidden-token", "hidden-session"
ONCE = Options(
    deadline_seconds=60,
    attempt_seconds=60,
    backoff_base_seconds=1e9,
    backoff_cap_seconds=1e9,
    answer_bytes=10_000,
)
"""Without retries: a pause would pass the deadline."""
SHORT = Options(deadline_seconds=60, attempt_seconds=0.5, backoff_base_seconds=1e9, backoff_cap_seconds=1e9)

VALUES = st.sampled_from(
    [
        *("1", "null", "NaN", "-Infinity", "1e999", '"\\ud800"', "7" * 5000, "-" + "7" * 5000, "[" * 5000),
        *("[" * 2000 + "]" * 2000, "01", "", "{}", '{"a":1,"a":2}', '"x', "true", '"2026-11-20T00:00:00Z"'),
        *(
            '"2026-02-31T00:00:00Z"',
            '"0000-00-00T00:00:00Z"',
            '"2026-11-20T00:00:00.1234567890Z"',
            '"\uff19"',
            "5",
        ),
    ]
)
NAMES = st.sampled_from(["found", "value", "expiresAt", "ok", "deleted", "error", "new", "\\u0076alue"])
OBJECTS = st.lists(st.tuples(NAMES, VALUES), max_size=5).map(
    lambda members: ("{" + ",".join(f'"{name}":{value}' for name, value in members) + "}").encode()
)
FOUND = VALUES.map(lambda value: f'{{"found":true,"expiresAt":null,"value":{value}}}'.encode())
BODIES = st.one_of(
    OBJECTS,
    FOUND,
    st.binary(max_size=60),
    OBJECTS.map(gzip.compress),
    st.sampled_from(
        [b"\xff\xfe{", b'{"value":"\xff"}', b"\xef\xbb\xbf{}", b"x" * 20_000, b'"' + b"\\u" * 50]
    ),
    st.just(json.dumps({"error": TOKEN}).encode()),
)
STATUSES = st.sampled_from([100, 101, 102, 199, 200, 200, 200, 201, 204, 206, 301, 304, 400, 401, 403, 404])
FURTHER = st.sampled_from([408, 409, 413, 429, 500, 502, 503, 504, 599, 600, 999, 0, 99, 1000, -1])
STATUS_LINES = st.one_of(
    st.builds("HTTP/1.1 {} Any".format, STATUSES | FURTHER),
    st.builds("HTTP/1.1 {}".format, STATUSES),
    st.builds("HTTP/1.0 {} Old".format, STATUSES),
    st.sampled_from(
        ["", "HTTP/2 200", "HTTP/1.1 OK", "HTTP/1.1  200", "GET / HTTP/1.1", f"HTTP/1.1 200 {TOKEN}"]
    ),
)
FIELDS = st.sampled_from(
    [
        *("Content-Type: application/json", "content-type: text/html", "Content-Type: Application/JSON; a=b"),
        *(
            "Content-Encoding: gzip",
            "Content-Encoding: identity",
            "Content-Encoding: br, gzip",
            "Connection: close",
        ),
        *(
            "Retry-After: 3000",
            "Retry-After: -1",
            "Retry-After: 9" + "9" * 5000,
            "Retry-After: ٣٠٠٠",
            "Retry-After:",
        ),
        *(
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: identity",
            "Upgrade: websocket",
            "X: é\x00\x7f",
        ),
        *(
            f"x-kvs-error-detail: {TOKEN} {SESSION}",
            f"x-request-id: {TOKEN}",
            f"your token is {TOKEN}",
            ": empty",
        ),
        *(
            " folded",
            "X" * 9000 + ": y",
            "X: " + "y" * 40_000,
            "X: y\r\n" * 200 + "X: z",
            "Location: http://[",
            "X\t: y",
        ),
        *(
            "Set-Cookie: a=b; Domain=[",
            "Trailer: x",
            "Content-Length: 5",
            "Content-Length: 1" + "0" * 5000,
            "a\rb: c",
        ),
    ]
)
INFORMATIONAL = st.lists(
    st.sampled_from(["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"]), max_size=3
).map("".join)


def sized(body):
    return f"Content-Length: {len(body)}", body


def too_long(body):
    return f"Content-Length: {len(body) + 1}", body


def too_short(body):
    return f"Content-Length: {max(0, len(body) - 1)}", body


def unsized(body):
    return "X-Unsized: 1", body


def chunked(body):
    return "Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def badly_chunked(body):
    return "Transfer-Encoding: chunked", b"-1;x\r\n%b\r\nffffffffffffffffff\r\n" % body


def with_trailer(body):
    return "Transfer-Encoding: chunked", b"%x;x=y\r\n%b\r\n0\r\nX: y\r\nbad\r\n\r\n" % (len(body), body)


FRAMINGS = st.sampled_from(
    [sized, sized, sized, too_long, too_short, unsized, chunked, badly_chunked, with_trailer]
)


@st.composite
def answers(draw):
    framing, body = draw(FRAMINGS)(draw(BODIES))
    lines = [draw(STATUS_LINES), *draw(st.lists(FIELDS, max_size=3)), framing]
    if draw(st.booleans()):
        lines.append("Content-Type: application/json")
    head = draw(INFORMATIONAL) + "\r\n".join([*lines, "", ""])
    answer = head.encode() + body + draw(st.sampled_from([b"", b"", b"x", b"HTTP/1.1 200 OK\r\n\r\n"]))
    return answer[: draw(st.integers(0, len(answer)))] if draw(st.integers(0, 9)) == 0 else answer


CALLS = st.sampled_from(
    [("get", "k"), ("get_raw", "k"), ("put", "k", 1), ("put_raw", "k", b"1"), ("delete", "k")]
)


@pytest.fixture(scope="module")
def server():
    with HostileServer() as server:
        yield server


def made(kind, server, options):
    configuration = Configuration(server.url, "eu-central-1", TOKEN)
    return kind(
        configuration, options, find_credentials=lambda: Credentials("AKID", "hidden-secret", SESSION)
    )


def outcome(server, options, name, *arguments):
    """Returns the result or the error of the call by the synchronous client."""
    with made(Client, server, options) as client:
        try:
            return getattr(client, name)(*arguments)
        except KvsError as error:
            return error


async def async_outcome(server, options, name, *arguments):
    async with made(AsyncClient, server, options) as client:
        try:
            return await getattr(client, name)(*arguments)
        except KvsError as error:
            return error


def check(found):
    assert found is None or isinstance(found, (KvsError, Entry))
    if isinstance(found, KvsError):
        shown = f"{found} {found!r} {vars(found)} {found.__cause__}"
        assert "hidden" not in shown
        assert len(shown) < 2_000


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=answers() | st.binary(max_size=100), call=CALLS)
@example(answer=b"", call=("get", "k"))
@example(answer=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", call=("get", "k"))
def test_any_answer_is_a_result_or_an_error_of_this_package(server, answer, call):
    server.answer, server.again = answer, b""
    check(outcome(server, ONCE, *call))
    check(asyncio.run(async_outcome(server, ONCE, *call)))


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ENDLESS = {
    "line": (b"HTTP/1.1 200 ", b"x" * 1000),
    "fields": (HEAD, b"X: y\r\n"),
    "field": (HEAD + b"X: ", b"y" * 1000),
    "informational": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    "early hints": (b"", b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n" * 50),
    "body": (HEAD + b"\r\n", b"x" * 1000),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 100),
    "chunk extension": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 1000),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 100),
}


@pytest.mark.parametrize("part", ENDLESS)
def test_answer_with_an_endless_part_is_cut_off(server, part):
    server.answer, server.again = ENDLESS[part]
    options = SHORT if part == "trailers" else ONCE  # http.client reads these until the attempt ends
    for found in (
        outcome(server, options, "get", "k"),
        asyncio.run(async_outcome(server, options, "get", "k")),
    ):
        assert isinstance(found, KvsError)
        assert found.code in ("no_answer", "answer_too_large")
        check(found)
