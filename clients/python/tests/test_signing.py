"""Signatures equal those of botocore, byte for byte."""

import datetime as dt
import string

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from hypothesis import given
from hypothesis import strategies as st
from kvs_client import Configuration
from kvs_client.signing import Credentials, Signer

VISIBLE = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=1, max_size=80)
PATHS = st.lists(st.text(string.ascii_letters + string.digits + "_~-", min_size=1), max_size=3)
INSTANTS = st.integers(0, 4_000_000_000)
HOSTS = st.sampled_from(
    ["kvs.example", "KVS.Example:8443", "127.0.0.1:8080", "[::1]:8080", "kvs.example:443", "kvs.example:80"]
)


def signed_by_botocore(
    configuration: Configuration, operation, body, credentials, at_seconds
) -> dict[str, str]:
    url = f"{configuration.url.rstrip('/')}/v1/{operation}"
    headers = {
        "Content-Type": "application/json",
        "X-KVS-Authorization": f"Bearer {configuration.token}",
    }
    request = AWSRequest("POST", url, data=body, headers=headers)
    moment = dt.datetime.fromtimestamp(at_seconds, dt.UTC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment)
        botocore.auth.SigV4Auth(credentials, "execute-api", configuration.region).add_auth(request)
    return dict(request.headers.items())


@given(
    scheme=st.sampled_from(["http", "https"]),
    host=HOSTS,
    path=PATHS,
    region=st.sampled_from(["eu-central-1", "us-gov-west-1"]),
    token=VISIBLE,
    access_key=VISIBLE,
    secret=VISIBLE,
    session=st.none() | VISIBLE,
    operation=st.sampled_from(["put", "get", "delete"]),
    body=st.binary(),
    at_seconds=INSTANTS,
)
def test_signature_equals_that_of_botocore(
    scheme, host, path, region, token, access_key, secret, session, operation, body, at_seconds
):
    configuration = Configuration("/".join([f"{scheme}://{host}", *path]), region, token)
    credentials = Credentials(access_key, secret, session)
    fields = Signer(configuration).fields(operation, body, credentials, at_seconds)
    by_botocore = signed_by_botocore(configuration, operation, body, credentials, at_seconds)
    assert {name: fields[name] for name in by_botocore} == by_botocore
    assert set(fields) - set(by_botocore) == {"Accept", "Accept-Encoding", "Host", "User-Agent"}


def test_cached_key_is_not_used_for_another_day_or_secret():
    configuration = Configuration("http://kvs.example", "eu-central-1", "kvs_token")
    signer = Signer(configuration)
    for secret, at_seconds in [("a", 0), ("a", 90_000), ("b", 90_000), ("a", 0)]:
        credentials = Credentials("AKID", secret, None)
        fields = signer.fields("get", b"{}", credentials, at_seconds)
        by_botocore = signed_by_botocore(configuration, "get", b"{}", credentials, at_seconds)
        assert fields["Authorization"] == by_botocore["Authorization"]
