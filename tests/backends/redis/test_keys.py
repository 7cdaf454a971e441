"""Key names in Redis are injective."""

from hypothesis import assume, given
from hypothesis import strategies as st
from redis.crc import key_slot

from backends.interface import Keyspace
from backends.redis.entries.purging import pattern_of
from backends.redis.wire.commands import Keys, pack, prepare, slot_of

TRICKY = st.text(st.sampled_from(":%ew{}*?[]\\^-!a\u00e9/"), min_size=1, max_size=6)
ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TEXT = st.one_of(TRICKY, ANY)
NAMED = st.one_of(
    st.tuples(st.just("entry"), TEXT, TEXT),
    st.tuples(st.just("window"), TEXT),
    st.sampled_from([("records",), ("ping",)]),
)
KEYS = Keys("kvs")


def _name(what: tuple[str, ...]) -> bytes:
    match what:
        case ("entry", keyspace, key):
            return KEYS.entry(Keyspace(keyspace), key)
        case ("window", bucket):
            return KEYS.window(bucket)
        case ("records",):
            return KEYS.records
    return KEYS.ping


@given(NAMED, NAMED)
def test_two_different_objects_never_share_a_name(one, other):
    assume(one != other)
    assert _name(one) != _name(other)


@given(st.lists(NAMED, min_size=2, max_size=40, unique=True))
def test_different_objects_have_different_names(things):
    assert len({_name(thing) for thing in things}) == len(things)


@given(NAMED)
def test_every_name_begins_with_the_prefix(what):
    assert _name(what).startswith(b"kvs:")


@given(st.one_of(st.binary(), st.lists(st.sampled_from([b"{", b"}", b"a", b"b"])).map(b"".join)))
def test_a_key_has_the_slot_that_redis_py_computes(key):
    assert slot_of(key) == key_slot(key)


@given(
    keyspaces=st.lists(TRICKY, min_size=1, max_size=3, unique=True),
    others=st.lists(NAMED, max_size=20, unique=True),
)
def test_the_pattern_of_tables_matches_their_entries_and_others_are_dropped(server, keyspaces, others):
    server.command("FLUSHALL")
    things = [*(("entry", keyspace, key) for keyspace in keyspaces for key in ("k", ":")), *others]
    server.command("MSET", *(part for thing in things for part in (_name(thing), "")))
    tables = {KEYS.entries_of(Keyspace(keyspace)) for keyspace in keyspaces}
    found = server.command("KEYS", pattern_of(tables))
    expected = {_name(thing) for thing in things if thing[0] == "entry" and thing[1] in keyspaces}
    assert {name for name in found if KEYS.table_of(name) in tables} == expected
    assert len(keyspaces) > 1 or set(found) == expected


@given(st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=6), st.data())
def test_a_prepared_command_is_encoded_like_any_other(words, data):
    words = words + [None] * (not any(word is None for word in words))
    assume(words.count(None) <= 4)
    arguments = data.draw(st.lists(st.binary(), min_size=words.count(None), max_size=words.count(None)))
    rest = iter(arguments)
    command = [next(rest) if word is None else word for word in words]
    assert prepare(*words)(*arguments) == pack(*command)
