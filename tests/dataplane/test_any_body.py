"""Bodies are judged as the standard library judges them, for any input."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.domain.call import Headers
from gateway.domain.model import Get, Operation, Put
from tests.fuzz.oracle import assert_agreement, judge, refusal_of

THOROUGH = settings(max_examples=1000, deadline=None)
FEW = settings(max_examples=100, deadline=None)
QUICK = settings(max_examples=300, deadline=None)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
spacing = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n")])
texts = st.builds(
    lambda document, separators, ascii_only: json.dumps(
        document, separators=separators, ensure_ascii=ascii_only
    ).encode("utf-8", "surrogatepass"),
    documents,
    spacing,
    st.booleans(),
)
names = st.sampled_from(
    b'"key" "value" "ttlSeconds" "x" "\\u006bey" "" "\\ud800" "prefix" "limit" "cursor" "values" "by"'.split()
)
notable = st.sampled_from(
    b'60 59 6e1 "k" "\\ud800" 01 NaN -0 null true 1001 9007199254740992 -9007199254740991'.split()
)


def objects(members):
    return members.map(lambda pairs: b"{" + b",".join(name + b":" + value for name, value in pairs) + b"}")


bodies = objects(st.lists(st.tuples(names, texts | notable), max_size=6))
likely = {
    b'"op"': [b'"put"', b'"get"', b'"delete"', rb'"\u0067et"', b'"list"', b"1"],
    b'"key"': [b'"k"', b'""', b"1", rb'"\ud800"'],
    b'"value"': [b"1", rb'"\ud800"', b"null"],
    b'"ttlSeconds"': [b"60", b"59", b"null"],
    b'"ifMatch"': [b'"*"', rb'"\"tag\""', rb'"W/\"tag\""', b"null", b'""'],
    b'"ifNoneMatch"': [b'"*"', rb'"\"tag\""'],
    b'"x"': [b"1"],
}
elements = objects(
    st.lists(
        st.sampled_from(list(likely)).flatmap(
            lambda name: st.tuples(st.just(name), st.sampled_from(likely[name]))
        ),
        max_size=7,
    )
)
batches = st.lists(elements | st.sampled_from([b"1", b"[]", b'""', b"null"]), max_size=4).map(
    lambda each: b'{"operations":[' + b",".join(each) + b"]}"
)
fragments = st.sampled_from(
    b'{ } [ ] , : " \\ \\u \\ud800 \\udc00 0 1 - + . e E5 NaN Infinity null true nul / // lone'.split()
    + b" \n|\0|\x1f|\x7f|\xff|\xef\xbb\xbf|\xed\xa0\x80|\xc0\x80|\xe2\x82\xac|\xc2\xa0|\x0b".split(b"|")
)


@st.composite
def mutated(draw):
    """A body with a few of its bytes replaced, removed, or joined by others."""
    body = draw(bodies | st.just(b'{"key":"k","value":[1,{"a":"\\ud800"}],"ttlSeconds":60}'))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 3)))
        body = body[:start] + draw(fragments | st.binary(max_size=2)) + body[end:]
    return body


@pytest.mark.parametrize("operation", [Operation.PUT, Operation.GET, Operation.DELETE])
@given(body=bodies)
@QUICK
def test_bodies_of_known_members_are_judged_as_json_is(operation, body):
    assert_agreement(operation, body)


@pytest.mark.parametrize("operation", [Operation.LIST, Operation.INCREMENT, Operation.TOUCH, Operation.BATCH])
@given(body=bodies)
@FEW
def test_other_bodies_of_known_members_are_judged_as_json_is(operation, body):
    assert_agreement(operation, body)


@given(body=batches)
@QUICK
def test_batches_are_judged_as_json_is(body):
    assert_agreement(Operation.BATCH, body)


@given(body=mutated())
@example(body=rb'{"key":"k","value":\ud800}')
@example(body=rb'{"key":"k","value":1\ud800}')
@example(body=rb'{"key":"k","value":"\\\\ud800\ud800"}')
@example(body=b'{"key":"k","value":"\xed\xa0\x80"}')
@example(body=b'{"key":"k","value":"\x7f"}')
@example(body=b'{"key":"k","x":"\x1f","value":1}')
@example(body=b'{"key":"k","x":"\\x","value":1}')
@example(body=b'{"key":"k","value":1,"\\x":1}')
@example(body=b'{"key":"k","value":1,"\x00":1}')
@THOROUGH
def test_mutated_bodies_are_judged_as_json_is(body):
    assert_agreement(Operation.PUT, body)


@given(body=st.lists(fragments, max_size=12).map(b"".join))
@THOROUGH
def test_piles_of_fragments_are_judged_as_json_is(body):
    assert_agreement(Operation.PUT, b'{"key":"k","value":' + body + b"}")


@given(body=st.binary(max_size=200))
@QUICK
def test_any_bytes_are_either_a_request_or_refused(body):
    assert_agreement(Operation.PUT, body)


@given(value=texts)
@THOROUGH
def test_a_json_value_is_kept_byte_for_byte(value):
    body = b'{"key":"k","value":' + value + b',"x":1}'
    try:
        value.decode()
    except UnicodeDecodeError:
        assert judge(Operation.PUT, body) == (None, "invalid_json")
    else:
        assert judge(Operation.PUT, body) == (Put("k", value, None), None)


@given(key=st.text(st.characters(), max_size=600), ascii_only=st.booleans())
@QUICK
def test_a_key_is_the_text_that_json_says_it_is(key, ascii_only):
    body = json.dumps({"key": key}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    request, code = judge(Operation.GET, body)
    assert code == refusal_of("get", body, 0)
    assert request is None or request.key == key


@given(
    name=st.sampled_from([b"content-type", b"content-encoding", b"x"]),
    value=st.binary(max_size=30)
    | st.sampled_from([b"application/json", b"identity", b";", b"Application/JSON ;x"]),
)
@QUICK
def test_any_header_leaves_a_request_or_the_refusal_of_its_content_type(name, value):
    headers = Headers([(b"content-type", b"application/json"), (name, value)])
    request, code = judge(Operation.GET, b'{"key":"k"}', headers)
    assert (request, code) in [(Get("k"), None), (None, "invalid_content_type")]


@given(
    depth=st.integers(1, 3000),
    opening=st.sampled_from([b"[", b'{"a":', b'[{"\\ud800":']),
    closes=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_any_depth_leaves_a_request_or_a_refusal(depth, opening, closes):
    closing = {b"[": b"]", b'{"a":': b"}", b'[{"\\ud800":': b"}]"}[opening] * depth if closes else b""
    request, code = judge(Operation.PUT, b'{"key":"k","value":' + opening * depth + b"1" + closing + b"}")
    assert code in ({None, "invalid_json"} if closes else {"invalid_json"})
    assert depth > 300 or closes is (request is not None)
