"""Statements of unauthenticated callers about their signatures take bounded memory."""

import random
import tracemalloc
from collections.abc import Callable
from itertools import product

import pytest

from gateway.domain.call import Headers
from gateway.domain.errors import SignatureRefusal
from gateway.sigv4 import SignatureRules, examine
from tests.support.signing import REGION

NOW_SECONDS = 1_795_132_800
DATE = b"20261120T000000Z"
MIB = 2**20
NAMES = [
    (first + second).encode() for first, second in product("abcdefghijklmnopqrstuvwxyz0123456789-_", repeat=2)
]
DICE = random.Random(1)


def stated(names: list[bytes], target: bytes = b"/v1/get") -> Callable[[], object]:
    """Returns an examination of a well-formed request whose signature is not verified."""
    scope = b"AKIDNOBODY/20261120/%b/execute-api/aws4_request" % REGION.encode()
    listed = b";".join(sorted({*names, b"host", b"x-amz-date"}))
    field = b"AWS4-HMAC-SHA256 Credential=%b, SignedHeaders=%b, Signature=%b" % (scope, listed, b"0" * 64)
    sent = [
        (b"host", b"x"),
        (b"x-amz-date", DATE),
        (b"authorization", field),
        *((name, b"") for name in names),
    ]
    headers = Headers(sent)
    return lambda: examine(
        b"POST", target, headers, b"", rules=SignatureRules(REGION), now_seconds=NOW_SECONDS
    )


def long_lists() -> Callable[[], object]:
    return stated(DICE.sample(NAMES, 1400))


def short_lists() -> Callable[[], object]:
    return stated(DICE.sample(NAMES, 300))


def long_targets() -> Callable[[], object]:
    return stated([], b"/v1/get?%b" % b"%".join(DICE.sample(NAMES, 1400)))


@pytest.mark.parametrize(
    ("make", "calls", "limit_mib"), [(long_lists, 12, 0.5), (short_lists, 450, 5), (long_targets, 40, 0.25)]
)
def test_statements_of_unauthenticated_callers_take_little_memory(make, calls, limit_mib):
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(calls):
            try:
                make()()
            except SignatureRefusal as refusal:
                raise AssertionError(refusal.message) from refusal
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < limit_mib * MIB
