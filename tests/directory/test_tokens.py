"""Tokens are unguessable, checked without the store, and stored only as SHA-256."""

import re
import string
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.paging import all_records
from gateway.directory.tokens import is_well_formed, new_token

ALPHABET = string.ascii_letters + string.digits


def test_a_token_is_its_prefix_and_49_letters_and_digits():
    assert re.fullmatch(r"kvs_[0-9A-Za-z]{49}", new_token())


def test_a_thousand_tokens_are_all_different_and_well_formed():
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(is_well_formed(token.encode()) for token in tokens)


@given(place=st.integers(0, 52), character=st.sampled_from(ALPHABET))
@settings(max_examples=200, deadline=None)
def test_a_token_with_one_character_mistyped_is_not_well_formed(place, character):
    token = new_token()
    mistyped = token[:place] + character + token[place + 1 :]
    assert is_well_formed(mistyped.encode()) == (mistyped == token)


@given(place=st.integers(4, 51))
@settings(max_examples=100, deadline=None)
def test_a_token_with_two_neighbours_swapped_is_not_well_formed(place):
    token = new_token()
    swapped = token[:place] + token[place + 1] + token[place] + token[place + 2 :]
    assert is_well_formed(swapped.encode()) == (swapped == token)


@given(
    st.binary(max_size=80)
    | st.text(ALPHABET, min_size=49, max_size=49).map(lambda text: f"kvs_{text}".encode())
)
@settings(max_examples=300, deadline=None)
def test_invented_texts_are_not_well_formed(token):
    assert not is_well_formed(token)


@pytest.mark.parametrize(
    "change", [str.upper, str.lower, lambda t: t + "\n", lambda t: " " + t, lambda t: t[:-1]]
)
def test_a_token_that_was_changed_in_transit_is_not_well_formed(change):
    token = new_token()
    assert not is_well_formed(change(token).encode())


async def test_a_malformed_token_is_refused_without_a_store_read(region, replica):
    region.faults.calls.clear()
    for token in ("kvs_" + "a" * 49, "hello", "", "kvs_", new_token()[:-1] + "!"):
        assert not await replica.knows(token)
    assert region.faults.calls == []


async def test_records_hold_only_the_sha_256_of_a_token(region, replica):
    tokens = [await replica.create(), await replica.rotate(overlap_seconds=60), await replica.rotate()]
    stored = b""
    async for name, record in all_records(region.memory.records, ""):
        stored += name.encode() + record.document
    assert sha256(tokens[-1].encode()).hexdigest().encode() in stored
    for token in tokens:
        assert token.encode() not in stored
        assert token[4:-6].encode() not in stored


async def test_the_last_four_characters_of_a_token_are_kept_for_recognition(replica):
    token = await replica.create()
    app = await replica.directory.find((await replica.bindings.resolve(token.encode())).environment)
    assert app.tables[0].token_last_four == token[-4:]
