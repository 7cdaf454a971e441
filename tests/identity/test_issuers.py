"""Fetching keys from an issuer that may be down, slow or hostile."""

import asyncio

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.identity import issuer_keys
from gateway.identity.issuer_keys import MOST_WAITING, IssuerKeys, KeysUnavailable
from gateway.identity.issuers import Issuers
from gateway.identity.keys import MOST_BYTES
from gateway.replica.background import fetch_keys
from tests.identity.issuer import ALL, ISSUER, PRIVATE, jwks, shown, token
from tests.support.wire import until

NEW = rsa.generate_private_key(65537, 2048)


async def test_concurrent_verifications_share_one_fetch(tokens, issuer, clock):
    sent = [token(clock, jti=str(number)) for number in range(MOST_WAITING)]
    assert all(await asyncio.gather(*(tokens.verify(each) for each in sent)))
    assert issuer.asked == 1


async def test_an_unknown_key_id_causes_a_fetch_but_not_within_10_seconds_of_the_last(keys, issuer, clock):
    assert await keys.find("RS256", "RS256")
    issuer.body = jwks(shown(NEW, "new"))
    clock.advance(9_999)
    with pytest.raises(KeysUnavailable):
        await keys.find("new", "RS256")
    clock.advance(1)
    assert await keys.find("new", "RS256")
    assert issuer.asked == 2


async def test_many_unknown_key_ids_cause_one_fetch_in_10_seconds_and_use_no_memory(keys, issuer, clock):
    assert await keys.find("RS256", "RS256")
    before = len(keys.keys)
    for number in range(100_000):
        with pytest.raises(KeysUnavailable):
            await keys.find(f"unknown-{number}", "RS256")
    assert (issuer.asked, len(keys.keys)) == (1, before)
    clock.advance(10_000)
    assert await keys.find("unknown", "RS256") is None
    for number in range(100):
        with pytest.raises(KeysUnavailable):
            await keys.find(f"unknown-{number}", "RS256")
    assert issuer.asked == 2


async def test_a_new_key_is_unavailable_after_a_strangers_key_id_until_keys_are_fetched_again(
    tokens, keys, issuer, clock
):
    assert await keys.find("stranger", "RS256") is None
    issuer.body = jwks(shown(PRIVATE["RS256"], "new"))
    sent = token(clock, headers={"kid": "new"})
    for passed_ms, wait_seconds in ((0, 10), (4_001, 6), (5_998, 1)):
        clock.advance(passed_ms)
        with pytest.raises(KeysUnavailable) as refused:
            await tokens.verify(sent)
        assert refused.value.retry_after_seconds == wait_seconds
    clock.advance(1)
    assert await tokens.verify(sent)


async def test_a_fetch_that_began_before_a_token_arrived_does_not_make_it_invalid(keys, issuer):
    sent = [asyncio.create_task(keys.find(key_id, "RS256")) for key_id in ("stranger", "new")]
    assert await sent[0] is None
    with pytest.raises(KeysUnavailable):
        await sent[1]


async def test_a_key_that_was_missing_is_fetched_without_another_request(keys, issuer, clock):
    assert await keys.find("stranger", "RS256") is None
    issuer.body = jwks(shown(NEW, "new"))
    with pytest.raises(KeysUnavailable):
        await keys.find("new", "RS256")
    await keys.refresh()
    assert issuer.asked == 1
    clock.advance(10_000)
    await keys.refresh()
    assert keys.keys.keys() == {("new", "RS256")}
    clock.advance(10_000)
    await keys.refresh()
    assert issuer.asked == 2


@pytest.mark.virtual_time
async def test_a_slow_issuer_holds_up_a_bounded_number_of_requests(keys, issuer):
    issuer.misbehave = "silent"
    sent = [asyncio.create_task(keys.find("stranger", "RS256")) for _ in range(MOST_WAITING + 50)]
    await until(lambda: sum(each.done() for each in sent) == 50)
    for each in sent:
        with pytest.raises(KeysUnavailable) as refused:
            await each
        assert refused.value.retry_after_seconds == 1


@pytest.mark.parametrize("misbehave", ["silent", "drips", "100 MB", "hangs up"])
async def test_known_keys_outlive_an_issuer_that_misbehaves(keys, issuer, clock, misbehave, monkeypatch):
    assert await keys.find("RS256", "RS256")
    issuer.misbehave = misbehave
    monkeypatch.setattr(issuer_keys, "WAIT_SECONDS", 0.05)
    clock.advance(300_000)
    with pytest.raises(KeysUnavailable):
        await keys.find("new", "RS256")
    assert await keys.find("RS256", "RS256")


@pytest.mark.virtual_time
@pytest.mark.parametrize("misbehave", ["silent", "drips"])
async def test_a_request_waits_no_longer_than_2_seconds(keys, issuer, misbehave):
    issuer.misbehave = misbehave
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(KeysUnavailable):
        await keys.find("RS256", "RS256")
    assert loop.time() - began < 2.5


@pytest.mark.virtual_time
async def test_a_fetch_that_takes_longer_than_10_seconds_ends_and_the_next_one_gets_the_keys(
    keys, issuer, clock
):
    issuer.misbehave = "drips"
    loop = asyncio.get_running_loop()
    began = loop.time()
    await keys.refresh()
    assert 9 < loop.time() - began < 12
    issuer.misbehave = None
    clock.advance(10_000)
    assert await keys.find("RS256", "RS256")


async def test_a_bounded_part_of_a_100_mb_response_is_read(keys, issuer, caplog):
    issuer.misbehave = "100 MB"
    await keys.refresh()
    (line,) = [record.fields for record in caplog.records if record.name == "kvs.identity"]
    assert line["problem"] == f"the server answers with more than {MOST_BYTES} bytes"


STRANGE = [b"", b"{}", b"[]", b"null", b'{"keys": {}}', b'{"keys": 1}', b"\xff", b"[" * 5000, b"<html>"]


@pytest.mark.parametrize("body", STRANGE, ids=lambda body: repr(body[:12]))
async def test_a_response_that_is_no_jwks_replaces_no_keys(keys, issuer, clock, body):
    await keys.refresh()
    issuer.body = body
    clock.advance(300_000)
    await keys.refresh()
    assert await keys.find("RS256", "RS256")


NOT_OK = ["404 Not Found", "500 Oops", "204 No Content", "300 Choices"]
NOT_OK += ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Moved"]


@pytest.mark.parametrize("status", NOT_OK)
async def test_only_status_200_is_accepted_and_no_redirect_is_followed(keys, issuer, status):
    issuer.status = status
    with pytest.raises(KeysUnavailable):
        await keys.find("RS256", "RS256")
    assert (issuer.asked, keys.keys) == (1, {})


async def test_a_key_that_the_issuer_withdrew_ends_its_tokens_within_5_minutes(tokens, keys, issuer, clock):
    sent = token(clock, exp=4_000_000_000)
    assert await tokens.verify(sent)
    issuer.body = jwks(shown(NEW, "new"))
    clock.advance(299_999)
    await keys.refresh()
    assert await tokens.verify(sent)
    clock.advance(1)
    await keys.refresh()
    with pytest.raises(KeysUnavailable):
        await tokens.verify(sent)
    clock.advance(10_000)
    assert await tokens.verify(sent) is None


async def test_after_a_failure_the_next_fetch_is_10_seconds_later(keys, issuer, clock):
    issuer.status = "500 Oops"
    await keys.refresh()
    clock.advance(9_999)
    await keys.refresh()
    assert issuer.asked == 1
    issuer.status = "200 OK"
    clock.advance(1)
    await keys.refresh()
    assert await keys.find("EdDSA", "EdDSA")


async def test_keys_come_from_a_file_and_new_ones_are_read_on_first_use(tmp_path, clock):
    file = tmp_path / "jwks.json"
    file.write_bytes(ALL)
    keys = IssuerKeys(ISSUER, str(file), fetch_keys, clock)
    assert await keys.find("ES256", "ES256")
    file.write_bytes(jwks(shown(NEW, "new")))
    clock.advance(10_000)
    assert await keys.find("new", "RS256")
    file.unlink()
    clock.advance(300_000)
    await keys.refresh()
    assert await keys.find("new", "RS256")


async def test_keys_are_shared_while_anyone_holds_them(issuer, clock):
    every = Issuers(fetch_keys, clock)
    held = every.keys_at(ISSUER, issuer.url)
    assert every.keys_at(ISSUER, issuer.url) is held
    assert every.keys_at("https://other.example.com", issuer.url) is not held
    await held.refresh()
    del held
    assert not every.keys_at(ISSUER, issuer.url).keys


async def test_a_user_that_drops_its_keys_leaves_them_to_the_others(issuer, clock):
    every = Issuers(fetch_keys, clock)
    for who in ("control", "credentials"):
        every.use(who, [every.keys_at(ISSUER, issuer.url)])
    await every.refresh()
    assert issuer.asked == 1
    every.use("control", [])
    clock.advance(300_000)
    await every.refresh()
    assert issuer.asked == 2
    every.use("credentials", [])
    clock.advance(300_000)
    await every.refresh()
    assert issuer.asked == 2


async def test_the_age_of_keys_counts_from_the_last_fetch_that_succeeded(issuer, clock):
    every = Issuers(fetch_keys, clock)
    every.use("control", [every.keys_at(ISSUER, issuer.url)])
    clock.advance(5_000)
    assert every.ages_seconds() == {ISSUER: 5}
    await every.refresh()
    assert every.ages_seconds() == {ISSUER: 0}
    issuer.status = "500 Oops"
    for _ in range(3):
        clock.advance(300_000)
        await every.refresh()
    assert every.ages_seconds() == {ISSUER: 900}
    assert every.fetches() == {(ISSUER, "ok"): 1, (ISSUER, "error"): 3}


async def test_the_age_of_an_issuer_with_two_sources_is_the_oldest(issuer, clock, tmp_path):
    every = Issuers(fetch_keys, clock)
    missing = every.keys_at(ISSUER, str(tmp_path / "none"))
    every.use("control", [every.keys_at(ISSUER, issuer.url), missing])
    clock.advance(5_000)
    await every.refresh()
    assert every.ages_seconds() == {ISSUER: 5}
    assert every.fetches() == {(ISSUER, "ok"): 1, (ISSUER, "error"): 1}


async def test_closing_ends_a_fetch(issuer, clock):
    every = Issuers(fetch_keys, clock)
    every.use("control", [every.keys_at(ISSUER, issuer.url)])
    issuer.misbehave = "silent"
    refreshing = asyncio.create_task(every.refresh())
    await until(lambda: issuer.asked)
    await every.close()
    await refreshing
