"""Bodies of requests, and values in answers."""

import datetime as dt
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvs_client import InvalidAnswer, InvalidRequest, encoding


def repr_of_type(value):
    return type(value).__name__


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(key=st.text(), value=JSON, ttl=st.none() | st.integers())
def test_every_put_body_decodes_to_its_arguments(key, value, ttl):
    body = json.loads(encoding.put_body(key, encoding.encoded(value), ttl))
    assert body == {"key": key, "value": value} | ({} if ttl is None else {"ttlSeconds": ttl})


@given(JSON, st.sampled_from(["", " ", "\n\t "]), st.integers(0, 2))
def test_raw_value_is_extracted_from_every_answer(value, space, place):
    raw = json.dumps(value)
    members = [f'{space}"found"{space}:{space}true', f'"expiresAt"{space}: null']
    members.insert(place, f'"value":{space}{raw}{space}')
    entry = encoding.raw_entry(("{" + ",".join(members) + "}" + space).encode())
    assert entry == encoding.Entry(raw.encode(), None)


@given(st.binary())
def test_raw_bytes_must_be_one_json_value(data):
    try:
        encoding.checked(data)
    except InvalidRequest:
        return
    json.loads(encoding.put_body("k", data, 60))
    assert json.loads(encoding.put_body("k", data, 60))["key"] == "k"


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_every_answer_is_an_entry_or_an_error_of_this_package(body):
    for read in (encoding.raw_entry, lambda each: encoding.entry(encoding.decoded(each))):
        with suppress(InvalidAnswer):
            assert read(body) is None or json.loads(body)["found"] is True


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, [float("inf")], object(), {(1,): 2}, "circular"])
def test_value_that_is_not_json_is_refused_without_being_quoted(value):
    if value == "circular":
        value = []
        value.append(value)
    with pytest.raises(InvalidRequest) as caught:
        encoding.encoded(value)
    assert caught.value.code == "invalid_value"
    assert caught.value.__cause__ is None


def test_raw_numbers_may_have_any_length():
    digits = b"1" * 10_000
    assert encoding.checked(digits) == digits
    assert encoding.raw_entry(b'{"found":true,"value":%b,"expiresAt":null}' % digits).value == digits


def test_too_deep_nesting_is_refused():
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(InvalidRequest):
        encoding.checked(deep)
    with pytest.raises(InvalidAnswer):
        encoding.decoded(deep)
    with pytest.raises(InvalidAnswer):
        encoding.raw_entry(b'{"value":%b}' % deep)


def test_lone_surrogate_is_a_valid_value_but_no_valid_key():
    assert encoding.encoded(["\ud800", "ü"]) == b'["\\ud800","\\u00fc"]'
    with pytest.raises(InvalidRequest) as caught:
        encoding.key_body("\ud800")
    assert caught.value.code == "invalid_key"


def test_expiry_is_an_instant_in_utc():
    body = b'{"found":true,"value":1,"expiresAt":"2026-11-20T00:00:00.123Z"}'
    found = encoding.entry(encoding.decoded(body))
    assert found.expires_at == dt.datetime(2026, 11, 20, 0, 0, 0, 123_000, dt.UTC)


@pytest.mark.parametrize("value", ["%b", "[-%b]", '{"a":[%b]}'])
def test_integer_of_more_digits_than_python_converts_is_an_error_that_names_get_raw(value):
    whole = value.encode() % (b"7" * 10_000)
    body = b'{"found":true,"value":%b,"expiresAt":null}' % whole
    with pytest.raises(InvalidAnswer) as caught:
        encoding.decoded(body)
    assert caught.value.code == "undecodable_value"
    assert "get_raw" in caught.value.detail
    assert "777" not in str(caught.value)
    assert encoding.raw_entry(body).value == whole


def test_integer_of_4300_digits_is_decoded():
    answer = encoding.decoded(b'{"found":true,"value":%b,"expiresAt":null}' % (b"7" * 4300))
    assert encoding.entry(answer).value == int("7" * 4300)


@pytest.mark.parametrize("field", ["found", "expiresAt", "new"])
def test_long_integer_in_another_field_is_no_bare_error(field):
    fields = {"found": "true", "value": "1", "expiresAt": "null", field: "7" * 5000}
    body = ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}").encode()
    with pytest.raises(InvalidAnswer):
        encoding.entry(encoding.decoded(body))
    if field == "new":
        assert encoding.raw_entry(body).value == b"1"
    else:
        with pytest.raises(InvalidAnswer):
            encoding.raw_entry(body)


@pytest.mark.parametrize("ttl", [10**5000, float("nan"), object(), {1}], ids=repr_of_type)
def test_ttl_that_json_cannot_carry_is_refused(ttl):
    with pytest.raises(InvalidRequest) as caught:
        encoding.put_body("k", b"1", ttl)
    assert caught.value.code == "invalid_ttl"


@pytest.mark.parametrize("key", [None, 5, b"k"])
def test_key_that_is_no_string_is_refused(key):
    with pytest.raises(InvalidRequest) as caught:
        encoding.prefixed("users:", key)
    assert caught.value.code == "invalid_key"
