"""For any rotations, strangers and outages of an issuer: no token under a published key is a final 401."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.identity.issuer_keys import FetchFailed, IssuerKeys, KeysUnavailable
from tests.identity.issuer import ISSUER, jwks, shown
from tests.support.clock import FakeClock
from tests.support.virtual_time import VirtualTimeLoop

PAUSE_MS = 10_000
SHOWN = [shown(ed25519.Ed25519PrivateKey.generate(), str(number)) for number in range(20)]

PUBLISH, STRANGER, HONEST = "publish", "stranger", "honest"
REFRESH, ANSWER, FAIL = "refresh", "answer", "fail"
STEPS = st.lists(
    st.one_of(
        st.sampled_from([PUBLISH, STRANGER, HONEST, REFRESH, ANSWER, FAIL]), st.integers(1, 2 * PAUSE_MS)
    ),
    max_size=18,
)


class Issuer:
    """Publishes one key after another. A fetch reads them when it begins and answers when a step says so."""

    def __init__(self) -> None:
        self.newest = 0
        self._pending: list[tuple[asyncio.Future[bytes], bytes]] = []

    async def fetch(self, _: str) -> bytes:
        answer = asyncio.get_running_loop().create_future()
        self._pending.append((answer, jwks(*SHOWN[: self.newest + 1])))
        return await answer

    def answer(self) -> None:
        for answer, body in self._pending:
            answer.set_result(body)
        self._pending.clear()

    def fail(self) -> None:
        for answer, _ in self._pending:
            answer.set_exception(FetchFailed("the server hangs up"))
        self._pending.clear()


class FinalWithinThePause(IssuerKeys):
    """Breaks the promise: what the last fetch did not show is final."""

    async def find(self, key_id: str | None, algorithm: str) -> Any:
        try:
            return await super().find(key_id, algorithm)
        except KeysUnavailable:
            if self._fetching is None and self._is_current:
                return None
            raise


class FinalForLatecomers(IssuerKeys):
    """Breaks the promise: a fetch is final for requests that came while it ran."""

    async def find(self, key_id: str | None, algorithm: str) -> Any:
        joined = self._fetching
        try:
            return await super().find(key_id, algorithm)
        except KeysUnavailable:
            if joined is not None and joined.done() and self._is_current:
                return None
            raise


async def play(steps: Sequence[str | int], kind: type[IssuerKeys] = IssuerKeys) -> None:
    """Plays the steps. Then every honest token must pass within one pause."""
    issuer, clock = Issuer(), FakeClock()
    keys = kind(ISSUER, "keys", issuer.fetch, clock)
    honest: list[asyncio.Task[Any]] = []
    others: list[asyncio.Task[Any]] = []
    for step in steps:
        match step:
            case "publish":
                issuer.newest += 1
            case "stranger":
                others.append(asyncio.create_task(keys.find("stranger", "EdDSA")))
            case "honest":
                honest.append(asyncio.create_task(keys.find(str(issuer.newest), "EdDSA")))
            case "refresh":
                others.append(asyncio.create_task(keys.refresh()))
            case "answer":
                issuer.answer()
            case "fail":
                issuer.fail()
            case int(passed_ms):
                clock.advance(passed_ms)
        await _settle()
    issuer.answer()
    await _settle()
    clock.advance(PAUSE_MS)
    last = asyncio.create_task(keys.find(str(issuer.newest), "EdDSA"))
    await _settle()
    issuer.answer()
    assert await last is not None
    for result in await asyncio.gather(*honest, return_exceptions=True):
        assert result is not None
        assert not isinstance(result, Exception) or 1 <= result.retry_after_seconds <= 10
    await asyncio.gather(*others, return_exceptions=True)
    await keys.close()


async def _settle() -> None:
    """Lets every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_no_token_under_a_published_key_is_a_final_refusal_and_all_pass_within_10_seconds(steps):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(play(steps))


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        (FinalWithinThePause, [STRANGER, ANSWER, PUBLISH, HONEST]),
        (FinalForLatecomers, [STRANGER, PUBLISH, HONEST, ANSWER]),
    ],
)
async def test_a_gateway_that_breaks_the_promise_is_noticed(kind, steps):
    await play(steps)
    with pytest.raises(AssertionError):
        await play(steps, kind)
