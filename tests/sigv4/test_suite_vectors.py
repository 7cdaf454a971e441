"""Every case of the AWS test suite that HTTP can transport."""

import json
from urllib.parse import quote_from_bytes

import pytest

from gateway.domain.call import Headers
from gateway.domain.errors import IncompleteSignature, SignatureMismatch
from gateway.sigv4.authorization import parse_signed_headers
from gateway.sigv4.signing import canonical_request
from tests.sigv4.suite import CASES, NAMES, NOT_HTTP, Case, read_case, read_sent

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def flipped(text: bytes, at: int = -1) -> bytes:
    """Replaces one letter or digit of the text."""
    changed = bytearray(text)
    changed[at] = ord("0") if changed[at] != ord("0") else ord("1")
    return bytes(changed)


def parameter(case: Case, name: bytes) -> bytes:
    return case.authorization.partition(name + b"=")[2].partition(b",")[0]


def test_the_suite_is_there_in_full():
    assert len(NAMES) == 31
    assert len(CASES) == 27


@every_case
def test_the_signature_of_the_suite_proves(case):
    case.verify()


@every_case
def test_the_canonical_request_is_the_one_of_the_suite(case):
    signed_headers = parse_signed_headers(parameter(case, b"SignedHeaders"))
    payload_hash = case.canonical_request.rpartition(b"\n")[2]
    headers = Headers(case.fields)
    values = tuple(headers[name] for name in signed_headers.names)
    built = canonical_request(case.method, case.target, signed_headers, values, payload_hash)
    assert built == case.canonical_request


@every_case
def test_another_body_is_refused(case):
    body = flipped(case.body) if case.body else b"x"
    with pytest.raises(SignatureMismatch):
        case.but(body=body).verify()


@every_case
def test_another_method_is_refused(case):
    with pytest.raises(SignatureMismatch):
        case.but(method=b"PUT").verify()


@every_case
def test_another_path_is_refused(case):
    path, mark, query = case.target.partition(b"?")
    with pytest.raises(SignatureMismatch):
        case.but(target=path + b"x" + mark + query).verify()


@every_case
def test_another_query_is_refused(case):
    path, mark, query = case.target.partition(b"?")
    changed = flipped(query) if query else b"x"
    with pytest.raises(SignatureMismatch):
        case.but(target=path + (mark or b"?") + changed).verify()


@every_case
def test_another_host_is_refused(case):
    fields = [(name, flipped(value, 0) if name == b"Host" else value) for name, value in case.fields]
    with pytest.raises(SignatureMismatch):
        case.but(fields=tuple(fields)).verify()


@pytest.mark.parametrize(
    ("case", "place"),
    [
        pytest.param(case, place, id=f"{case.name}-{case.fields[place][0].decode()}-{place}")
        for case in CASES
        for place in range(len(case.fields))
        if case.fields[place][0].lower() not in (b"host", b"x-amz-date")
    ],
)
def test_another_value_of_any_other_signed_header_is_refused(case, place):
    fields = list(case.fields)
    name, value = fields[place]
    fields[place] = (name, flipped(value, len(value) // 2))
    with pytest.raises(SignatureMismatch):
        case.but(fields=tuple(fields)).verify()


@every_case
def test_a_date_one_second_later_is_refused(case):
    fields = [(name, value.replace(b"123600Z", b"123601Z")) for name, value in case.fields]
    with pytest.raises(SignatureMismatch):
        case.but(fields=tuple(fields)).verify()


@every_case
def test_another_signature_is_refused(case):
    with pytest.raises(SignatureMismatch):
        case.but(authorization=flipped(case.authorization)).verify()


@pytest.mark.parametrize("name", ["get-header-value-order", "get-header-key-duplicate"])
def test_repeated_headers_in_another_order_are_refused(name):
    case = read_case(name)
    with pytest.raises(SignatureMismatch):
        case.but(fields=case.fields[::-1]).verify()


@pytest.mark.parametrize("name", ["get-vanilla-query-order-key", "get-vanilla-query-order-key-case"])
def test_parameters_in_another_order_are_the_same_request(name):
    case = read_case(name)
    path, _, query = case.target.partition(b"?")
    case.but(target=path + b"?" + b"&".join(query.split(b"&")[::-1])).verify()


def test_a_session_token_that_was_added_after_signing_is_refused():
    after = read_case("post-sts-header-after")
    token = dict(read_case("post-sts-header-before").fields)[b"X-Amz-Security-Token"]
    with pytest.raises(IncompleteSignature):
        after.but(fields=(*after.fields, (b"X-Amz-Security-Token", token))).verify()


def test_a_query_beyond_ascii_proves_as_clients_send_it():
    case = read_case("get-vanilla-utf8-query")
    case.but(target=quote_from_bytes(case.target, safe="/?=").encode()).verify()


@pytest.mark.parametrize("name", NOT_HTTP, ids=NOT_HTTP.get)
async def test_input_that_is_not_http_is_refused_in_json(gateway, name):
    head, _, body = (await gateway.send_raw(read_sent(name))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nContent-Type: application/json\r\n" in head
    assert json.loads(body) == {"error": "bad_request"}
