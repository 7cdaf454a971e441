"""Pages of lists for any keys: valid JSON, bounded, with cursors that lead from page to page."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.interface import LATEST_MS, Keyspace
from backends.tables import Page, Revision, StoredEntry
from gateway.dataplane.bodies import listed
from gateway.dataplane.bodies.pages import read_cursor, write_cursor
from gateway.domain.answers import iso_instant
from gateway.domain.outcomes import render
from gateway.domain.rules import PAGE_BYTES

QUICK = settings(max_examples=200, deadline=None)
KEYSPACE = Keyspace("t2_keyspace")

letters = st.characters(exclude_categories=["Cs"]) | st.sampled_from('\0\x1f"\\/\x7f\u2028\ufeff')
keys = st.text(letters, min_size=1, max_size=40)
instants = st.none() | st.integers(0, LATEST_MS)


def entry(value: bytes = b"", expires_at_ms: int | None = None) -> StoredEntry:
    return StoredEntry(value, expires_at_ms, Revision("revision"))


@given(entries=st.lists(st.tuples(keys, instants), max_size=5), has_values=st.booleans())
@QUICK
def test_a_page_is_json_whatever_its_keys(entries, has_values):
    value = b'{"a":[1.50,"\\ud800"]}'
    page = Page(tuple((key, entry(value if has_values else b"", each)) for key, each in entries), None)
    body = json.loads(render(listed(KEYSPACE, "", page, has_values=has_values)).body)
    member = {"value": {"a": [1.5, "\ud800"]}} if has_values else {}
    assert body == {
        "entries": [{"key": key, "expiresAt": iso_instant(each)} | member for key, each in entries],
        "cursor": None,
    }


@given(
    prefix=st.text(letters, max_size=5), after=keys, other=st.tuples(st.text(max_size=5), st.text(letters))
)
@QUICK
def test_a_cursor_is_read_as_the_key_that_was_written(prefix, after, other):
    cursor = write_cursor(KEYSPACE, prefix, after)
    assert read_cursor(KEYSPACE, prefix, cursor) == after
    assert cursor.isascii()
    if other != (KEYSPACE, prefix):
        assert write_cursor(Keyspace(other[0]), other[1], after) != cursor


@given(
    key_bytes=st.integers(100, 512),
    value_bytes=st.sampled_from([0, 2, 1000, 65_536]),
    letter=st.sampled_from("\0k€"),
)
@settings(max_examples=20, deadline=None)
@example(key_bytes=512, value_bytes=0, letter="\0")
def test_a_page_exceeds_one_mebibyte_by_one_entry_at_most(key_bytes, value_bytes, letter):
    sent = [letter * (key_bytes // 3 - 4) + f"{number:04}" for number in range(1000)]
    stored = entry(b"1" * value_bytes, LATEST_MS)
    page = Page(tuple((key, stored) for key in sent), None)
    first = listed(KEYSPACE, "", page, has_values=bool(value_bytes))
    body = render(first).body
    last = render(listed(KEYSPACE, "", Page(page.entries[-1:], None), has_values=bool(value_bytes))).body
    assert len(body) <= PAGE_BYTES + len(last)
    if first.cursor is None:
        assert len(first.entries) == 1000
    else:
        assert len(body) > 0.9 * PAGE_BYTES
        assert read_cursor(KEYSPACE, "", first.cursor) == first.entries[-1][0]
