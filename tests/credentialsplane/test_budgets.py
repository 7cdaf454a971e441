"""Budgets of an address: a neighbour that is refused takes nothing from workloads with valid tokens."""

import pytest

from gateway.credentialsplane import budgets
from gateway.credentialsplane.budgets import Attempt, Budgets
from gateway.credentialsplane.errors import TooManyExchanges
from gateway.credentialsplane.workloads import Workload
from gateway.domain.model import Environment
from gateway.observability.logs import AuditContext
from tests.credentialsplane.workloads import (
    CONTAINER,
    OTHER_ROLE,
    SHOP,
    SUBJECT,
    TOKEN,
    assume,
    configured,
    fetch,
    found,
    vouch,
    vouched,
)
from tests.support.clock import FakeClock
from tests.support.config import ROLE
from tests.support.gateway import Gateway, Reply, run_gateway

LIMIT = 3
BLOG = {"subject": "blog", "role": ROLE, **SHOP}


@pytest.fixture
async def limited(tmp_path):
    """A gateway with budgets of 3 a minute, an issuer and a configured token."""
    async with run_gateway(vouched(tmp_path, BLOG, requests_per_minute_per_address=LIMIT)) as running:
        yield running


def forged(number: int, subject: str = SUBJECT) -> str:
    """Returns a token that fits in all but its signature."""
    head, claims, proof = vouch(subject, jti=f"forged-{number}").split(".")
    return f"{head}.{claims}.{proof[::-1]}"


async def flood(gateway: Gateway, number: int = LIMIT) -> list[Reply]:
    return [await fetch(gateway, forged(each)) for each in range(number)]


async def nonsense(gateway: Gateway) -> Reply:
    return await gateway.fetch("GET", "/nonsense")


async def another_method(gateway: Gateway) -> Reply:
    return await gateway.fetch("GET", "/")


async def no_token(gateway: Gateway) -> Reply:
    return await fetch(gateway, None)


async def wrong_token(gateway: Gateway) -> Reply:
    return await fetch(gateway, "wrong-workload-token")


async def no_form(gateway: Gateway) -> Reply:
    return await gateway.fetch("POST", "/", b"Action=Nothing")


async def another_issuer(gateway: Gateway) -> Reply:
    return await fetch(gateway, vouch(iss="https://other.example.com"))


async def forged_token(gateway: Gateway) -> Reply:
    return await fetch(gateway, forged(0))


async def another_subject(gateway: Gateway) -> Reply:
    return await fetch(gateway, vouch("system:serviceaccount:evil:api"))


REFUSED = [
    nonsense, another_method, no_token, wrong_token, no_form, another_issuer, forged_token, another_subject,
]  # fmt: skip


@pytest.mark.parametrize("attack", REFUSED, ids=lambda attack: attack.__name__)
async def test_no_refused_neighbour_takes_the_credentials_of_a_valid_token(limited, attack):
    for _ in range(3 * LIMIT):
        assert (await attack(limited)).status in (400, 401, 403, 404, 405)
    assert (await fetch(limited)).status == 200
    assert (await fetch(limited, vouch())).status == 200
    assert (await assume(limited, vouch("blog"))).status == 200


async def test_a_workload_has_a_budget_of_its_own_per_minute(limited):
    answers = [await fetch(limited) for _ in range(LIMIT + 1)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["Retry-After"] == "60"
    assert (await fetch(limited, vouch())).status == 200
    limited.clock.advance(59_999)
    assert (await fetch(limited)).headers["Retry-After"] == "1"
    limited.clock.advance(1)
    assert (await fetch(limited)).status == 200


async def test_all_tokens_of_a_workload_share_its_budget(limited):
    answers = [await fetch(limited, vouch(jti=str(number))) for number in range(LIMIT + 1)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]


async def test_an_identified_workload_that_is_refused_uses_up_its_own_budget(limited):
    sent = [await assume(limited, vouch(), RoleArn=OTHER_ROLE) for _ in range(LIMIT + 1)]
    assert [found(each, "Code") for each in sent] == [["AccessDenied"]] * LIMIT + [["Throttling"]]
    assert (await assume(limited, vouch("blog"))).status == 200


async def test_behind_the_address_of_a_flood_signatures_are_verified_at_a_bounded_rate(limited, monkeypatch):
    monkeypatch.setattr(budgets, "SHARED_PER_SECOND", 2)
    assert [reply.status for reply in await flood(limited, LIMIT + 3)] == [401] * (LIMIT + 2) + [429]
    refused = await fetch(limited, vouch())
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    limited.clock.advance(1000)
    assert (await fetch(limited, vouch())).status == 200


async def test_a_token_that_was_verified_before_needs_no_verification_in_a_flood(limited, monkeypatch):
    monkeypatch.setattr(budgets, "SHARED_PER_SECOND", 0)
    seen = vouch()
    assert (await fetch(limited, seen)).status == 200
    await flood(limited)
    assert (await fetch(limited, vouch())).status == 429
    assert (await fetch(limited, seen)).status == 200
    assert (await assume(limited, seen)).status == 200
    assert (await fetch(limited)).status == 200


async def test_an_address_gets_its_budget_of_refusals_back_after_a_minute(limited, monkeypatch):
    monkeypatch.setattr(budgets, "SHARED_PER_SECOND", 0)
    await flood(limited)
    limited.clock.advance(60_000)
    assert (await fetch(limited, forged(0))).status == 401


async def test_a_workload_beyond_its_budget_cannot_have_any_number_of_new_tokens_verified(
    limited, monkeypatch
):
    monkeypatch.setattr(budgets, "SHARED_PER_SECOND", 0)
    sent = [await fetch(limited, vouch(jti=str(number))) for number in range(3 * LIMIT)]
    assert [each.status for each in sent] == [200] * LIMIT + [429] * 2 * LIMIT
    assert (await fetch(limited, vouch("blog"))).status == 429


@pytest.mark.parametrize("field", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP"])
async def test_forwarding_headers_do_not_change_the_limited_address(field):
    async with run_gateway(configured(requests_per_minute_per_address=2)) as gateway:
        sent = [
            await gateway.fetch(
                "GET", CONTAINER, headers={"Authorization": TOKEN, field: f"192.0.2.{number}"}
            )
            for number in range(3)
        ]
        assert [answer.status for answer in sent] == [200, 200, 429]


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_the_limit_applies_to_an_ipv4_address_or_an_ipv6_64_network(clock, first, second, share):
    every = Budgets(1, clock)
    workload = Workload(ROLE, Environment("acme", "shop", "production"), SUBJECT)
    _attempt(every, first).identify(workload)
    if share:
        with pytest.raises(TooManyExchanges):
            _attempt(every, second).identify(workload)
    else:
        _attempt(every, second).identify(workload)


def test_a_hundred_thousand_addresses_use_bounded_memory(clock: FakeClock):
    every = Budgets(1, clock)
    for number in range(20_000):
        every.note_refusal(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(every._refused._windows) == 10_000


def _attempt(every: Budgets, peer: str) -> Attempt:
    return Attempt(every, peer, AuditContext("container", outcome="none"))
