"""Unmodified Signature V4 clients put, get and delete."""

import pytest

from tests.system.signers import command_line, javascript, python
from tests.system.signers.runtime import EXPECTED

SIGNERS = {**python.SIGNERS, **command_line.SIGNERS, **javascript.SIGNERS}

every_signer = pytest.mark.parametrize("call", SIGNERS.values(), ids=SIGNERS)


@every_signer
def test_an_unmodified_signer_puts_gets_and_deletes(call, runtime):
    assert call(runtime) == EXPECTED


@every_signer
def test_a_signer_with_another_secret_is_refused(call, runtime):
    answers = call(runtime.but(secret_access_key="another-secret"))
    assert [answer["status"] for answer in answers] == [403, 403, 403]
    assert {answer["body"]["error"] for answer in answers} == {"signature_mismatch"}


@every_signer
def test_a_signer_for_another_region_is_refused(call, runtime):
    answers = call(runtime.but(region="us-east-1"))
    assert {answer["body"]["error"] for answer in answers} == {"invalid_region"}


@every_signer
def test_a_signer_with_another_table_token_is_unauthorized(call, runtime):
    answers = call(runtime.but(table_token="no-such-token"))
    assert [answer["status"] for answer in answers] == [401, 401, 401]
    assert {answer["body"]["error"] for answer in answers} == {"invalid_token"}
