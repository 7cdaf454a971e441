"""Patterns in `approved_roles` match role ARNs part by part, like IAM's ArnLike."""

import pytest

from gateway.credentials.keyring import ApprovedRoles, role_of
from gateway.credentials.session import SessionCredentials
from tests.sigv4.wire import assert_refused
from tests.support.config import MASTER_KEY
from tests.support.signing import Signer

PATTERN = "arn:aws:iam::*:role/managed-app-*"


@pytest.mark.parametrize(
    ("pattern", "role"),
    [
        (PATTERN, "arn:aws:iam::123456789012:role/managed-app-shop"),
        (PATTERN, "arn:aws:iam::1:role/managed-app-"),
        (PATTERN, "arn:aws:iam::123456789012:role/managed-app-team/shop"),
        ("arn:aws:iam::123456789012:role/exact", "arn:aws:iam::123456789012:role/exact"),
        ("arn:aws:iam::12345678901?:role/*", "arn:aws:iam::123456789012:role/any"),
        ("arn:aws*:iam::*:role/*", "arn:aws-cn:iam::1:role/any"),
        ("arn:aws:iam::*:role/*/deploy", "arn:aws:iam::1:role/team/deploy"),
        ("arn:aws:iam::1:role/a+b.c", "arn:aws:iam::1:role/a+b.c"),
    ],
)
def test_a_role_that_matches_is_approved(pattern, role):
    assert ApprovedRoles([pattern]).approves(role)


@pytest.mark.parametrize(
    ("pattern", "role"),
    [
        (PATTERN, "arn:aws:iam::1:role/unmanaged-app-shop"),
        (PATTERN, "arn:aws:iam::1:role/Managed-App-shop"),
        (PATTERN, "arn:aws:iam::1:role/team/managed-app-shop"),
        (PATTERN, "arn:aws:iam::1:user/managed-app-shop"),
        (PATTERN, "arn:aws:iam::1:2:role/managed-app-shop"),
        (PATTERN, "arn:aws:iam::1:role/x:role/managed-app-shop"),
        (PATTERN, "arn:aws:iam::1:role/managed-app-shop:more"),
        (PATTERN, "arn:aws:sts::1:assumed-role/managed-app-shop/session"),
        (PATTERN, "xarn:aws:iam::1:role/managed-app-shop"),
        (PATTERN, ""),
        ("arn:aws:iam::*", "arn:aws:iam::1:role/any"),
        ("arn:*:role/any", "arn:aws:iam::1:role/any"),
        ("*", "arn:aws:iam::1:role/any"),
        ("arn:aws:iam::1:role/exact", "arn:aws:iam::1:role/exact-not"),
        ("arn:aws:iam::1:role/exact", "arn:aws:iam::1:role/exact\n"),
        ("arn:aws:iam::1:role/a.c", "arn:aws:iam::1:role/abc"),
        ("arn:aws:iam::1:role/[ab]", "arn:aws:iam::1:role/a"),
        ("arn:aws:iam::1:role/a?", "arn:aws:iam::1:role/a"),
        ("arn:aws:iam::1?:role/a", "arn:aws:iam::1::role/a"),
        ("arn:aws:iam::1:role/a|arn:aws:iam::1:role/b", "arn:aws:iam::1:role/b"),
    ],
)
def test_a_role_that_does_not_match_is_not_approved(pattern, role):
    assert not ApprovedRoles([pattern]).approves(role)


def test_a_match_of_one_pattern_approves_a_role():
    roles = ApprovedRoles(["arn:aws:iam::1:role/a", "arn:aws:iam::1:role/b"])
    assert [roles.approves(f"arn:aws:iam::1:role/{name}") for name in "abc"] == [True, True, False]


def test_without_patterns_no_role_is_approved():
    assert not ApprovedRoles([]).approves("arn:aws:iam::1:role/any")


@pytest.mark.parametrize(
    ("arn", "role"),
    [
        ("arn:aws:sts::1:assumed-role/app/session", "arn:aws:iam::1:role/app"),
        ("arn:aws-cn:sts::1:assumed-role/app/s@x=1,2.3", "arn:aws-cn:iam::1:role/app"),
        ("arn:aws:iam::1:role/app", "arn:aws:iam::1:role/app"),
        ("arn:aws:iam::1:user/app", "arn:aws:iam::1:user/app"),
        ("arn:aws:sts::1:assumed-role/app", "arn:aws:sts::1:assumed-role/app"),
        ("arn:aws:sts::1:assumed-role//session", "arn:aws:sts::1:assumed-role//session"),
        ("arn:aws:sts::1:assumed-role/app/", "arn:aws:sts::1:assumed-role/app/"),
        ("arn:aws:sts::1:assumed-role/a/b/c", "arn:aws:sts::1:assumed-role/a/b/c"),
        ("arn:aws:sts::1:federated-user/app", "arn:aws:sts::1:federated-user/app"),
    ],
)
def test_an_assumed_role_session_counts_as_its_role(arn, role):
    assert role_of(arn) == role


async def test_a_proved_caller_of_another_role_is_not_authorized(gateway):
    sessions = SessionCredentials([MASTER_KEY], gateway.clock)
    issued = sessions.issue("arn:aws:iam::1:role/stranger", 900, None)
    signer = Signer(issued.access_key_id, issued.secret_access_key, issued.session_token)
    reply = await gateway.put("k", 1, signer=signer)
    message = "User is not authorized to access this resource"
    assert_refused(reply, "caller_not_approved", "AccessDeniedException", message)


@pytest.mark.parametrize("end", ["\n", "\x00", " ", "\x7f", "é", "\ud800"])
def test_a_role_with_a_character_that_no_arn_has_is_not_approved(end):
    assert not ApprovedRoles([PATTERN]).approves(f"arn:aws:iam::1:role/managed-app-x{end}")
