"""Outgoing requests are signed as botocore would sign them."""

import string

from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.dynamodb.transport import AwsCredentials, Signer
from tests.support.dynamodb.signature import verify_signature

VISIBLE = st.text(string.ascii_letters + string.digits + "/+=-_. ~%,;:", min_size=1, max_size=80).map(
    lambda text: "A" + text.strip()
)
CREDENTIALS = st.builds(
    AwsCredentials,
    st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=32),
    st.text(min_size=1, max_size=60).filter(str.isprintable),
    st.none() | VISIBLE,
)
YEAR_2100_MS = 4_102_444_800_000


@settings(max_examples=300, deadline=None)
@given(
    body=st.binary(max_size=2000),
    credentials=CREDENTIALS,
    region=st.from_regex(r"[a-z0-9-]{1,30}", fullmatch=True),
    host=st.from_regex(r"[a-z0-9.-]{1,40}(:[1-9][0-9]{0,3})?", fullmatch=True),
    action=st.sampled_from(["GetItem", "PutItem", "UpdateItem", "Query"]),
    wall_ms=st.integers(0, YEAR_2100_MS),
)
def test_a_signature_is_botocores(*, body, credentials, region, host, action, wall_ms):
    headers = Signer(region, host, lambda: wall_ms).headers(credentials, action, body)
    theirs = TheirCredentials(credentials.access_key_id, credentials.secret, credentials.token)
    assert headers["host"] == host
    assert headers["x-amz-target"] == f"DynamoDB_20120810.{action}"
    verify_signature(AWSRequest("POST", f"http://{host}/", data=body), headers, theirs, region)


def test_the_day_of_the_signing_key_changes_at_midnight():
    credentials = AwsCredentials("AKID", "secret", None)
    midnight_ms = 1_795_132_800_000
    for wall_ms in (midnight_ms - 1, midnight_ms, midnight_ms - 1):
        headers = Signer("eu-central-1", "h", lambda now=wall_ms: now).headers(credentials, "GetItem", b"{}")
        theirs = TheirCredentials("AKID", "secret")
        verify_signature(AWSRequest("POST", "http://h/", data=b"{}"), headers, theirs, "eu-central-1")


def test_spaces_in_a_row_are_signed_as_one():
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html"""
    credentials = AwsCredentials("AKID", "secret", "a  token")
    headers = Signer("eu-central-1", "h", lambda: 0).headers(credentials, "GetItem", b"{}")
    assert headers["x-amz-security-token"] == "a  token"
    theirs = TheirCredentials("AKID", "secret", "a  token")
    verify_signature(AWSRequest("POST", "http://h/", data=b"{}"), headers, theirs, "eu-central-1")


def test_credentials_hide_their_secret_in_repr():
    shown = f"{AwsCredentials('AKID', 'the secret', 'the token')!r}"
    assert shown == "AwsCredentials(...)"
