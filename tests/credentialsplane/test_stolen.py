"""Stolen workload tokens and hostile issuers: their reach, their lifetime and their revocation."""

from contextlib import asynccontextmanager

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.controlplane.paths import APPS
from tests.credentialsplane.workloads import (
    SHOP,
    SUBJECT,
    assume,
    fetch,
    found,
    signer_in,
    vouch,
    vouched,
)
from tests.identity.issuer import AUDIENCE, ISSUER, claims, jwks, shown
from tests.replica.watched import Watched, watching
from tests.support.audit import audit_lines
from tests.support.clock import FakeClock
from tests.support.config import CONTROL_TOKEN, ROLE
from tests.support.gateway import run_gateway

HOSTILE = "https://hostile.example.com"
HOSTILE_KEY = ec.generate_private_key(ec.SECP256R1())
OWN_SUBJECT = "system:serviceaccount:other:api"


def hostile(**changes) -> str:
    """Signs a token as the hostile issuer."""
    stated = claims(FakeClock(), iss=HOSTILE, sub=OWN_SUBJECT, **changes)
    return jwt.encode(stated, HOSTILE_KEY, "ES256", headers={"kid": "hostile"})


@pytest.fixture
async def with_hostile(tmp_path):
    """Configures the hostile issuer beside the other one, for a workload of another app."""
    (tmp_path / "hostile.json").write_bytes(jwks(shown(HOSTILE_KEY, "hostile")))
    own = {"subject": OWN_SUBJECT, "role": ROLE, **SHOP, "app": "other"}
    trusted = {"issuer": HOSTILE, "audience": AUDIENCE, "jwks": str(tmp_path / "hostile.json")}
    changes = vouched(tmp_path)
    changes["workloads"].append({**trusted, "subjects": [own]})
    async with run_gateway(changes) as gateway:
        yield gateway


@asynccontextmanager
async def reloading(folder):
    """The gateway and its configuration."""
    changes = vouched(folder)
    async with watching(folder, **changes) as watched:
        yield watched, changes


async def test_a_stolen_token_works_until_it_expires_and_its_credentials_until_they_do(trusting):
    stolen = vouch()
    signer = signer_in(await assume(trusting, stolen))
    trusting.clock.advance(600_000)
    assert found(await assume(trusting, stolen), "Code") == ["ExpiredTokenException"]
    assert (await trusting.put("k", 1, signer=signer)).status == 200
    trusting.clock.advance(3_000_000)
    assert (await trusting.put("k", 1, signer=signer)).error == "invalid_credentials"


async def test_removing_the_subject_stops_a_stolen_token_that_was_verified_before(tmp_path):
    async with reloading(tmp_path) as (watched, changes):
        stolen = vouch()
        assert (await assume(watched.gateway, stolen)).status == 200
        changes["workloads"][0]["subjects"] = []
        await watched.reload(**changes)
        assert found(await assume(watched.gateway, stolen), "Code") == ["AccessDenied"]


async def test_denying_an_access_key_stops_its_credentials_only(tmp_path):
    async with reloading(tmp_path) as (watched, changes):
        gateway = watched.gateway
        with audit_lines() as written:
            stolen = signer_in(await assume(gateway, vouch(), RoleSessionName="stolen"))
        other = signer_in(await assume(gateway, vouch()))
        (line,) = written.lines
        assert (line["actor"], line["session_name"], line["issuer"]) == (SUBJECT, "stolen", ISSUER)
        await _deny(watched, changes, line["access_key_id"])
        assert (await gateway.put("k", 1, signer=stolen)).error == "invalid_credentials"
        assert (await gateway.put("k", 1, signer=other)).status == 200


async def test_a_hostile_issuer_reaches_the_apps_of_its_own_subjects_only(with_hostile):
    with audit_lines() as written:
        signer = signer_in(await assume(with_hostile, hostile()))
    assert [line["environment"] for line in written.lines] == ["acme/other/production"]
    assert (await with_hostile.put("k", 1, signer=signer)).error == "caller_not_approved"


@pytest.mark.parametrize(
    ("stated", "key_id", "code"),
    [
        ({"iss": HOSTILE, "sub": SUBJECT}, "hostile", "AccessDenied"),
        ({"iss": HOSTILE, "sub": SUBJECT}, "ES256", "InvalidIdentityToken"),
        ({"iss": ISSUER, "sub": SUBJECT}, "hostile", "InvalidIdentityToken"),
        ({"iss": ISSUER, "sub": SUBJECT}, "ES256", "InvalidIdentityToken"),
    ],
    ids=str,
)
async def test_a_hostile_issuer_cannot_impersonate_subjects_of_another(with_hostile, stated, key_id, code):
    """The hostile issuer uses the name and the key id of either issuer."""
    forged = jwt.encode(claims(FakeClock(), **stated), HOSTILE_KEY, "ES256", headers={"kid": key_id})
    for own in (vouch(), hostile()):
        assert (await assume(with_hostile, own)).status == 200
    with_hostile.clock.advance(10_000)  # an unknown key id is final only if keys may be fetched for it
    assert found(await assume(with_hostile, forged), "Code") == [code]


async def test_an_issuer_of_workloads_is_not_trusted_by_the_control_listener(trusting):
    for path in ("/v1/whoami", APPS):
        assert (await trusting.manage("GET", path, token=vouch())).error == "invalid_token"


async def test_an_issuer_of_people_is_not_trusted_by_the_credentials_listener(tmp_path):
    (tmp_path / "people.json").write_bytes(jwks(shown(HOSTILE_KEY, "hostile")))
    people = {"issuer": HOSTILE, "audience": AUDIENCE, "jwks": str(tmp_path / "people.json")}
    rules = [{"claim": "sub", "value": OWN_SUBJECT, "allow": "all"}]
    control = {"tokens": [CONTROL_TOKEN], "oidc": [{**people, "rules": rules}]}
    async with run_gateway({**vouched(tmp_path), "control": control}) as gateway:
        assert (await gateway.manage("GET", APPS, token=hostile())).status == 200
        assert found(await assume(gateway, hostile()), "Code") == ["InvalidIdentityToken"]
        assert (await fetch(gateway, hostile())).status == 401


async def _deny(watched: Watched, changes: dict, access_key_id: str) -> None:
    signature = {"denied_access_keys": [access_key_id]}
    await watched.reload(**{**changes, "signature": signature})
