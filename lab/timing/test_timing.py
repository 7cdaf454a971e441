"""Refusals take as long whether an attempt came close to a secret or not; and the measure would notice."""

from collections.abc import Callable

import pytest

from lab.timing.attempts import IN_PROCESS, over_http, signatures
from lab.timing.comparison import Pair, compare
from tests.support.config import BASE
from tests.support.evidence import note
from tests.support.process import GatewayProcess

SAMPLES = pytest.mark.parametrize(
    "samples", [1_000, pytest.param(20_000, marks=pytest.mark.heavy)], ids="{:,} samples".format
)
TRIES = 3
"""A difference that is there shows every time; a machine that is busy with something else does not."""


def assert_alike(make_pair: Callable[[], Pair], samples: int) -> None:
    found = [compare(make_pair, samples)]
    while found[-1].differs and len(found) < TRIES:
        found.append(compare(make_pair, samples))
    note(tried=samples * len(found))
    assert not found[-1].differs, found


@SAMPLES
@pytest.mark.parametrize("make_pair", IN_PROCESS.values(), ids=IN_PROCESS.keys())
def test_a_refusal_takes_as_long_however_close_the_attempt_was(make_pair, samples):
    assert_alike(make_pair, samples)


@SAMPLES
def test_over_http_nothing_else_shows(tmp_path, samples):
    with GatewayProcess(BASE, tmp_path) as process, over_http(process.urls["data"]) as pairs:
        for make_pair in pairs.values():
            assert_alike(make_pair, samples)


def early_exit(one: str, other: str) -> bool:
    return all(a == b for a, b in zip(one, other, strict=True))


def test_a_comparison_that_ends_early_would_be_noticed():
    secret = "0123456789abcdef" * 4
    first, last = "x" + secret[1:], secret[:-1] + "x"

    def make_pair() -> Pair:
        return lambda: early_exit(secret, first), lambda: early_exit(secret, last)

    assert compare(make_pair, 1_000).differs


def test_a_call_is_like_itself():
    def make_pair() -> Pair:
        attempt, _ = signatures()
        return attempt, attempt

    assert_alike(make_pair, 1_000)
