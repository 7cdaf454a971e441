"""The forms of a Redis URL."""

import pytest

from backends.redis.wire.url import Address, InvalidUrl, Layout, RedisUrl, parse_url

HERE = Address("127.0.0.1", 6379)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("redis://127.0.0.1", (Layout.STANDALONE, False, "", "", (HERE,), "", 0)),
        ("redis://127.0.0.1:6379/", (Layout.STANDALONE, False, "", "", (HERE,), "", 0)),
        ("redis://127.0.0.1:6379/15", (Layout.STANDALONE, False, "", "", (HERE,), "", 15)),
        ("rediss://kvs.example:1", (Layout.STANDALONE, True, "", "", (Address("kvs.example", 1),), "", 0)),
        ("redis://[::1]:7000/0", (Layout.STANDALONE, False, "", "", (Address("::1", 7000),), "", 0)),
        ("redis://:secret@127.0.0.1", (Layout.STANDALONE, False, "", "secret", (HERE,), "", 0)),
        ("redis://u:p%40%2F%3a%25@127.0.0.1", (Layout.STANDALONE, False, "u", "p@/:%", (HERE,), "", 0)),
        (
            "redis+sentinel://a:1,b/main",
            (Layout.SENTINEL, False, "", "", (Address("a", 1), Address("b", 26379)), "main", 0),
        ),
        (
            "rediss+sentinel://u:p@a:1/my-master.1/2",
            (Layout.SENTINEL, True, "u", "p", (Address("a", 1),), "my-master.1", 2),
        ),
        (
            "redis+cluster://127.0.0.1,b:1",
            (Layout.CLUSTER, False, "", "", (HERE, Address("b", 1)), "", 0),
        ),
        ("rediss+cluster://u:p@127.0.0.1/0", (Layout.CLUSTER, True, "u", "p", (HERE,), "", 0)),
    ],
)  # fmt: skip
def test_a_url_is_parsed(url, parts):
    assert parse_url(url) == RedisUrl(*parts)


@pytest.mark.parametrize(
    "url",
    [
        "", "redis", "redis:", "redis:/127.0.0.1", "127.0.0.1:6379", "http://127.0.0.1", "REDIS://127.0.0.1",
        "redis+other://127.0.0.1", "redis+sentinels://127.0.0.1", "redis://", "redis:///0", "redis://:6379",
        "redis://127.0.0.1:", "redis://127.0.0.1:x", "redis://127.0.0.1:0", "redis://127.0.0.1:65536",
        "redis://127.0.0.1:123456", "redis://a,b", "redis://a b", "redis://::1", "redis://[::1", "redis://u@a",
        "redis://u:@a", "redis://@:@a", "redis://a/x", "redis://a/-1", "redis://a/1/2", "redis://a?db=1",
        "redis://a/1?x", "redis://a/1#x", "redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a//0",
        "redis+sentinel://a/b/c", "redis+sentinel://,/b", "redis+cluster://a/1", "redis+cluster://a,",
        "redis://\u00e4.example", "redis://127.0.0.1\n", "redis://u:p/w@127.0.0.1",
        "redis://:p@ss@a", "redis://u:p%zz@a", "redis://u:p%2@a", "redis://%@u:p@a", "redis://u:p%ff@a",
        "redis://u:\ud800@a",
    ],
)  # fmt: skip
def test_a_malformed_url_is_refused(url):
    with pytest.raises(InvalidUrl):
        parse_url(url)


@pytest.mark.parametrize(
    "url",
    ["redis://canary@a", "redis://u:can/ary@a", "canary", "redis://a/canary", "redis+sentinel://a/b/canary"],
)
def test_a_refusal_repeats_no_part_of_the_url(url):
    with pytest.raises(InvalidUrl) as refused:
        parse_url(url)
    assert "canary" not in repr(refused.value)


def test_repr_shows_neither_user_nor_password():
    shown = repr(parse_url("redis://canary-user:canary-password@127.0.0.1"))
    assert "canary" not in shown
