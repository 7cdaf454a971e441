"""Each byte belongs to one request: an independent parser agrees on what was executed (RFC 9112)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import EdgeSettings
from tests.support.piecewise import play
from tests.support.strict_http import read

LOOP_MAKES_NO_DIFFERENCE = True

EDGE = EdgeSettings()
HIDDEN = b"POST /v1/delete HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nevil"
PLAIN = b"POST /v1/put HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nplain"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n2\r\nch\r\n5\r\nunked\r\n0\r\n\r\n"
CHUNKED = b"POST /v1/put HTTP/1.1\r\nHost: h\r\n" + CHUNKS
EMPTY = b"GET /v1/get?a=b HTTP/1.1\r\nHost: h\r\nX-Empty:\r\n\r\n"
ASKING = b"POST /v1/get HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
UPGRADE = ASKING + b"Content-Length: 3\r\n\r\nask"
UPGRADE_IN_CHUNKS = ASKING + CHUNKS
TRAILERS = CHUNKED[:-2] + b"X-Early: 1\r\nX-KVS-Authorization: Bearer stolen\r\n\r\n"
EXPECTING = PLAIN.replace(b"Host: h\r\n", b"Host: h\r\nExpect: 100-continue\r\n")
TUNNEL = b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n"
VALID = [
    PLAIN,
    CHUNKED,
    EMPTY,
    UPGRADE,
    UPGRADE_IN_CHUNKS,
    TRAILERS,
    EXPECTING,
    b"\r\n" + PLAIN,
    b"\r\n\r\n" + EMPTY,
]

PIECES = [
    *VALID, HIDDEN,
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\n\n", b"\0", b" ", b"\t", b"\r\n ", b"\r\n\t", b";", b"close",
    b"POST /v1/put HTTP/1.1\r\n", b"POST  /v1/put HTTP/1.1\r\n", b"POST /v1/put RTSP/1.0\r\n",
    b"SOURCE / ICE/1.0\r\n", b"POST http://h/v1/put HTTP/1.1\r\n", b"POST /v1/put HTTP/1.0\r\n",
    b"CONNECT h:80 HTTP/1.1\r\n", b"OPTIONS * HTTP/1.1\r\n", b"GET /\r\n", b"HEAD / HTTP/1.1\r\n",
    b"POST /\xc3\xa9 HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"Host: h\r\n", b"Host:h \t\r\n", b"Host : h\r\n", b"X: " + HIDDEN.replace(b"\r\n", b" ") + b"\r\n",
    b"Content-Length: 5\r\n\r\nhello", b"Content-Length: 0\r\n", b"Content-Length: 5, 5\r\n",
    b"Content-Length: 05\r\n", b"Content-Length: +5\r\n", b"Content-Length: 18446744073709551615\r\n",
    b"Content-Length: 18446744073709551616\r\n", b"Content-Length:\r\n",
    b"Content-Length: %d\r\n\r\n" % len(HIDDEN),
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: chunked, chunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n",
    b"Transfer-Encoding: CHUNKED\r\n", b"Transfer-Encoding: identity\r\n", b"transfer-encoding: chunked \r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Connection: upgrade, close\r\nUpgrade: h2c\r\n",
    b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Connection: keep-alive, close\r\n",
    b"Expect: 100-continue\r\n", b"Trailer: X\r\n",
    b"5\r\nhello\r\n", b"5;a=b\r\nhello\r\n",
    b'5;a="\r\n"\r\nhello\r\n', b"5 \r\nhello\r\n", b"005\r\nhello\r\n",
    b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\nContent-Length: 9\r\n\r\n", b"0\r\nConnection: close\r\n\r\n",
    b"0\r\nTransfer-Encoding: chunked\r\n\r\n", b"0;x\r\n\r\n", b"0\n\n", b"-1\r\n", b"fffffffffffffffff\r\n",
]  # fmt: skip

PROPERTY = settings(max_examples=150, deadline=None)


@st.composite
def packets(draw, content) -> list[bytes]:
    """Bytes in packets: whole, cut at a few places, or byte by byte."""
    data = draw(content)
    how = draw(st.integers(0, 3))
    if how == 0:
        return [data]
    if how == 1:
        return [data[at : at + 1] for at in range(len(data))]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@st.composite
def spoilt(draw) -> bytes:
    """Valid requests, one behind the other, with a few pieces put in place of some of their bytes."""
    data = b"".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(1, 3))):
        at, removed = draw(st.integers(0, len(data))), draw(st.sampled_from([0, 0, 1, 2, 20]))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=3))
        data = data[:at] + piece + data[at + removed :]
    return data


any_bytes = st.binary(max_size=100) | st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join) | spoilt()
steps = st.sampled_from([0, 0, 1, 5])


@given(sent=packets(any_bytes), steps=steps)
@PROPERTY
async def test_a_strict_parser_agrees_on_what_was_executed(sent, steps):
    outcome = await play(sent, EDGE, steps)
    outcome.assert_agrees(b"".join(sent))


@given(sent=packets(st.lists(st.sampled_from(VALID), max_size=40).map(b"".join)), steps=steps)
@PROPERTY
async def test_valid_requests_are_all_executed_in_any_cuts(sent, steps):
    outcome = await play(sent, EDGE, steps)
    outcome.assert_agrees(b"".join(sent))
    assert outcome.executed == read(b"".join(sent))
    assert outcome.statuses == [200] * len(outcome.executed)


@pytest.mark.parametrize("first", VALID, ids=range(len(VALID)))
@pytest.mark.parametrize("second", VALID, ids=range(len(VALID)))
async def test_two_requests_are_executed_wherever_they_are_cut(first, second):
    sent = first + second
    for at in range(0, len(sent), 3):
        outcome = await play([sent[:at], sent[at:]], EDGE)
        assert outcome.statuses == [200, 200]
        outcome.assert_agrees(sent)


def asking_with_hidden(start: bytes) -> bytes:
    """A request for an Upgrade. Its body is as long as its head up to the request line in a value."""
    top = b"POST /v1/get HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nX-Hidden: "
    rest = b"Host: h\r\nContent-Length: %d\r\n\r\n" % len(top)
    return top + start + rest + b"x" * len(top)


@pytest.mark.parametrize("empty_lines", range(5))
@pytest.mark.parametrize(
    "first", [b"", PLAIN, CHUNKED, UPGRADE], ids=["nothing", "plain", "chunked", "upgrade"]
)
async def test_a_request_in_the_value_of_a_field_is_not_executed(first, empty_lines):
    sent = first + b"\r\n" * empty_lines + asking_with_hidden(b"POST /v1/delete HTTP/1.1\r\n") + PLAIN
    for at in (0, len(first), len(first) + 2, len(first) + 3, len(sent) - 1):
        outcome = await play([sent[:at], sent[at:]], EDGE)
        assert b"/v1/delete" not in [each.target for each in outcome.executed]
        assert outcome.statuses == [200] * (3 if first else 2)
        outcome.assert_agrees(sent)


async def test_what_follows_a_tunnel_request_is_dropped_unparsed():
    sent = TUNNEL + HIDDEN + b"\0" * 20
    for packets in ([sent], [sent[:40], sent[40:]], [sent[:30], sent[30:50], sent[50:]]):
        outcome = await play(packets, EDGE)
        assert [each.method for each in outcome.executed] == [b"CONNECT"]
        assert outcome.statuses == [200]
        assert b"\r\nConnection: close\r\n" in outcome.written


async def test_what_follows_a_request_that_closes_is_dropped_unparsed():
    last = PLAIN.replace(b"Host: h\r\n", b"Host: h\r\nConnection: close\r\n")
    for rest in (HIDDEN, b"\0" * 20, b"not HTTP\r\n\r\n"):
        outcome = await play([PLAIN + last + rest, HIDDEN], EDGE)
        assert outcome.statuses == [200, 200]
        outcome.assert_agrees(PLAIN + last + rest + HIDDEN)


CODINGS = ["gzip", "chunked, identity", "chunked, chunked", ", chunked", "xchunked", "chunked;q=1", "", "5"]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("before", [b"", PLAIN], ids=["first", "behind another"])
async def test_what_follows_a_request_of_unknown_coding_is_not_executed(coding, before):
    """Another parser may take it for a body, also behind an Upgrade, where aiohttp's sees none."""
    for fields in (b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"):
        last = b"POST /nonsense HTTP/1.1\r\nHost: h\r\n%bTransfer-Encoding: %b\r\n\r\n"
        sent = before + last % (fields, coding.encode()) + HIDDEN
        for at in (0, len(sent) - len(HIDDEN), len(sent) - 1):
            outcome = await play([sent[:at], sent[at:]], EDGE)
            assert outcome.statuses[-1] == 400
            outcome.assert_agrees(sent)


@pytest.mark.parametrize("after", [b"", PLAIN], ids=["last", "before another"])
async def test_an_empty_coding_is_refused_beside_a_length(after):
    sent = PLAIN.replace(b"Host: h\r\n", b"Host: h\r\nTransfer-Encoding:\r\n") + after
    for at in (0, 30, len(PLAIN)):
        outcome = await play([sent[:at], sent[at:]], EDGE)
        assert outcome.executed == []
        assert outcome.statuses == [400]


@pytest.mark.parametrize("rest", [b"\r\n", b"\r\n5\rhello\r\n0\r\n\r\n"], ids=["ended", "malformed"])
async def test_a_body_that_breaks_right_behind_a_chunk_is_not_whole(rest):
    """The end of the chunk wakes the reader, which then sees the end of the stream as well."""
    begun = CHUNKED[: CHUNKED.index(b"\r\n5\r\n")]
    for packets in ([begun, rest], [begun[:-4], begun[-4:], rest[:1], rest[1:]]):
        for steps in range(6):
            outcome = await play(packets, EDGE, steps)
            assert outcome.executed == []
            assert outcome.statuses == [400]


async def test_a_trailer_is_no_field_of_the_next_request():
    outcome = await play([TRAILERS + PLAIN], EDGE)
    assert [b"x-kvs-authorization" in each.fields for each in outcome.executed] == [False, False]
    assert outcome.statuses == [200, 200]


@pytest.mark.parametrize("coding", [b"gzip", b"chunked, gzip", b"identity", b"x", b"", b"chunked, chunked"])
@pytest.mark.parametrize(
    "first", [PLAIN, ASKING + b"\r\n", EMPTY, b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n"]
)
async def test_no_request_with_another_transfer_coding_is_executed(first, coding):
    sent = (
        first.replace(b"Host: h\r\n", b"Host: h\r\nTransfer-Encoding: %b\r\n" % coding)
        + b"0\r\n\r\n"
        + HIDDEN
    )
    outcome = await play([sent], EDGE)
    assert (outcome.executed, outcome.statuses) == ([], [400])
