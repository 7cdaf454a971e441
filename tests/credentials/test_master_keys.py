"""Several master keys: the first one issues, all verify."""

import pytest

from tests.credentials.sessions import session_signer
from tests.sigv4.wire import assert_refused
from tests.support.config import MASTER_KEY
from tests.support.gateway import run_gateway

NEW_KEY = "a-new-master-key-of-at-least-32-characters"
UNKNOWN = ("invalid_credentials", "UnrecognizedClientException")


def with_keys(gateway, *master_keys: str):
    changes = {"signature": {"credentials": {"session": {"master_keys": list(master_keys)}}}}
    return run_gateway(changes, clock=gateway.clock)


@pytest.mark.parametrize("keys", [(MASTER_KEY,), (MASTER_KEY, NEW_KEY), (NEW_KEY, MASTER_KEY)])
async def test_a_session_serves_as_long_as_its_key_is_there(gateway, keys):
    signer = await session_signer(gateway)
    async with with_keys(gateway, *keys) as rotated:
        assert (await rotated.put("k", 1, signer=signer)).status == 200


async def test_a_session_is_unknown_once_its_key_was_removed(gateway):
    signer = await session_signer(gateway)
    async with with_keys(gateway, NEW_KEY) as rotated:
        assert_refused(await rotated.put("k", 1, signer=signer), *UNKNOWN)


async def test_the_first_key_issues(gateway):
    async with with_keys(gateway, NEW_KEY, MASTER_KEY) as rotated:
        signer = await session_signer(rotated)
    assert_refused(await gateway.put("k", 1, signer=signer), *UNKNOWN)
    async with with_keys(gateway, NEW_KEY) as only_new:
        assert (await only_new.put("k", 1, signer=signer)).status == 200


async def test_a_verifying_master_key_does_not_issue(gateway):
    async with with_keys(gateway, MASTER_KEY, NEW_KEY) as prepared:
        signer = await session_signer(prepared)
    assert (await gateway.put("k", 1, signer=signer)).status == 200


async def test_keys_rotate_without_a_refused_call(gateway):
    """The new key first verifies, then issues; the old one is removed after its sessions have ended."""
    old = await session_signer(gateway, ttl_seconds=900)
    verifies, issues = (MASTER_KEY, NEW_KEY), (NEW_KEY, MASTER_KEY)
    async with with_keys(gateway, *verifies) as prepared, with_keys(gateway, *issues) as switched:
        new = await session_signer(switched)
        for replica in (prepared, switched):
            for signer in (old, new):
                assert (await replica.put("k", 1, signer=signer)).status == 200
