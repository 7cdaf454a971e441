"""Bytes, depth, time and pages of an answer are bounded, whatever a server sends."""

import copy
import itertools
import json
import tracemalloc
from unittest import mock

import pytest

from gateway.cli import control_client
from tests.cli.scripted import APP, CALLER, COMMANDS, URL, as_json, http, run

WHOAMI = ("whoami",)
LIST = ("apps", "list", "--org", "acme")
USAGE = ("usage", "--from", "2026-11-01", "--to", "2026-11-01T00:05:00Z")
HEAD = b"HTTP/1.1 200 OK\r\n"
MIB = 1024 * 1024
ENDLESS = {
    "body without a length": [HEAD + b"\r\n[", *[b"[" * 65_536] * 65_536],
    "body of an announced exabyte": [
        HEAD + b"Content-Length: %d\r\n\r\n" % 10**18,
        *[b" " * 65_536] * 65_536,
    ],
    "chunks": [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        *[b"10000\r\n" + b" " * 65_536 + b"\r\n"] * 65_536,
    ],
    "chunk of an exabyte": [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 15 + b"\r\n",
        *[b" " * 65_536] * 65_536,
    ],
    "extension of a chunk": [HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"x" * 65_536] * 65_536],
    "trailers": [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
        *[b"a: %s\r\n" % (b"b" * 1000) * 64] * 65_536,
    ],
    "status line": [b"HTTP/1.1 200 ", *[b"x" * 65_536] * 65_536],
    "head": [HEAD, *[b"a: b\r\n" * 10_000] * 65_536],
    "informational responses": [b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" * 1000] * 65_536,
    "continue": [b"HTTP/1.1 100 Continue\r\n\r\n" * 1000] * 65_536,
}
MALFORMED = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep within an object": b'{"x": %s}' % (b"[" * 500 + b"]" * 500),
    "an integer of 5,000 digits": b"1" * 5_000,
    "invalid UTF-8": b'"\xff"',
    "a surrogate": b'"\\ud800"',
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "compressed": b"\x1f\x8b\x08\x00",
    "nothing": b"",
    "null": b"null",
    "a number": b"1",
    "another object": b"{}",
    "an array": b"[]",
}


def _unexpected(result) -> dict:
    assert (result.code, result.out, result.error["error"]) == (1, "", "unexpected_answer")
    return result.error


@pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS)
def test_endless_answer_ends_the_command_in_bounded_memory(pieces):
    tracemalloc.start()
    try:
        _unexpected(run(WHOAMI, lambda: pieces))
        assert tracemalloc.get_traced_memory()[1] < 32 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("field", ["a: b", "Content-Encoding: gzip"])
def test_body_that_no_gateway_sends_is_unexpected(body, field):
    assert _unexpected(run(WHOAMI, lambda: [http(body, field)]))["url"] == URL


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 503])
@pytest.mark.parametrize(
    "body", [*MALFORMED.values(), b'{"error": 1}', b'{"error": "\\u001b[2J"}', b'["error"]']
)
def test_refusal_without_a_code_is_unexpected(status, body):
    result = run(WHOAMI, lambda: [http(body, status=status)])
    assert (result.out, result.error["error"], result.error["status"]) == ("", "unexpected_answer", status)


def test_explanation_cannot_control_a_terminal():
    said = "x-kvs-error-detail: \x1b[2J\x9b1m\x7f\u202etxt".encode().decode("latin-1")
    result = run(WHOAMI, lambda: [http(b'{"error": "app_not_found"}', said, status=404)])
    assert result.code == 3
    assert result.err.replace("\n", "").isprintable()


def test_informational_responses_are_skipped():
    before = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 X\r\n\r\n"
    )
    assert run(WHOAMI, lambda: [before + as_json(CALLER)]).json == CALLER


@pytest.mark.parametrize("seconds_per_byte", [0.1, 1, 29])
def test_answer_that_drips_ends_at_the_deadline_of_the_call(seconds_per_byte):
    now = itertools.count(0, seconds_per_byte)
    received = []

    def drip():
        for byte in itertools.chain(HEAD, itertools.repeat(ord("A"))):
            received.append(byte)
            yield bytes([byte])

    result = run(WHOAMI, drip, lambda: next(now))
    assert (result.code, result.out, result.error["error"]) == (5, "", "network")
    assert "no complete response within 30 s" in result.error["detail"]
    assert len(received) <= 30 / seconds_per_byte


def test_query_that_drips_ends_at_its_deadline():
    now = itertools.count(0, 10)
    result = run(USAGE, lambda: (bytes([byte]) for byte in as_json(COMMANDS[USAGE])), lambda: next(now))
    assert (result.code, result.out, result.error["error"]) == (5, "", "network")


@pytest.mark.parametrize("label", ["org", "app", "env", "table", "operation", "outcome"])
def test_usage_of_a_tenant_that_controls_a_terminal_is_unexpected(label):
    answer = copy.deepcopy(COMMANDS[USAGE])
    answer["data"]["result"][0]["metric"][label] = "\x1b[2J"
    _unexpected(run((*USAGE, "--format", "csv"), lambda: [as_json(answer)]))


def _pages(*pages: tuple[list, str]):
    """Responds with one page after the other, each with its `Link` field unless that is empty."""
    left = iter(pages)

    def respond() -> list[bytes]:
        items, link = next(left)
        return [as_json(items, *([f"Link: {link}"] if link else []))]

    return respond


def _app(number: int) -> dict:
    return {**APP, "app_id": f"app{number:06}"}


def _next(number: int) -> str:
    return f'</v1/orgs/acme/apps?limit=1000&after=app{number}>; rel="next"'


def test_pages_are_joined():
    respond = _pages(([_app(1), _app(2)], _next(2)), ([], _next(3)), ([_app(4)], ""))
    result = run(LIST, respond)
    assert result.json == [_app(1), _app(2), _app(4)]
    assert result.out == json.dumps(result.json, indent=2) + "\n"


@pytest.mark.parametrize("pages", [[([], "")], [([], _next(1)), ([], "")]])
def test_list_without_items_is_an_empty_array(pages):
    assert run(LIST, _pages(*pages)).out == "[]\n"


@pytest.mark.parametrize("second", [[_app(2)], [_app(1)], [_app(3), _app(3)], [_app(4), _app(3)]])
def test_page_that_does_not_continue_the_list_is_unexpected(second):
    _unexpected(run(LIST, _pages(([_app(1), _app(2)], _next(2)), (second, _next(2)), ([], ""))))


@pytest.mark.parametrize(
    "link",
    [
        '<https://evil.example/v1/orgs/acme/apps>; rel="next"',
        '<//evil.example/v1/orgs/acme/apps>; rel="next"',
        '</v1/orgs/other/apps?after=x>; rel="next"',
        '</v1/credentials>; rel="next"',
        '</v1/orgs/acme/apps?a b>; rel="next"',
        '</v1/orgs/acme/apps>; rel="previous"',
        "nonsense",
        f'</v1/orgs/acme/apps?{"a" * 5_000}>; rel="next"',
    ],
)
def test_link_that_leads_elsewhere_is_unexpected(link):
    _unexpected(run(LIST, _pages(([_app(1)], link))))


@pytest.mark.parametrize("items", [lambda _: [], lambda number: [_app(number)]])
def test_list_without_an_end_is_unexpected(items):
    error = _unexpected(run(LIST, _pages(*((items(number), _next(number)) for number in range(6)))))
    assert "a list without an end" in error["detail"]


def test_pages_are_bounded_in_bytes_together():
    with mock.patch.object(control_client, "_LIST_BYTES", 2_000):
        respond = _pages(*(([_app(number) | {"more": "x" * 900}], _next(number)) for number in range(3)))
        _unexpected(run(LIST, respond))


def test_pages_share_one_deadline():
    now = itertools.count(0, 60)
    result = run(LIST, _pages(*(([_app(number)], _next(number)) for number in range(5))), lambda: next(now))
    assert (result.code, result.out, result.error["error"]) == (5, "", "network")


def test_page_of_more_items_than_a_gateway_sends_is_unexpected():
    _unexpected(run(LIST, _pages(([_app(number) for number in range(1001)], ""))))
