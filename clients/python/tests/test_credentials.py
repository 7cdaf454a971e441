"""Credentials are found once, refreshed by botocore, and no call waits for them beyond its deadline."""

import datetime as dt
import threading
import time

import pytest
from botocore.credentials import Credentials as Found
from botocore.credentials import RefreshableCredentials
from kvs_client import Client, Configuration, DeadlineExceeded, NotAuthorized, Options, credentials
from kvs_client.aio import AsyncClient
from kvs_client.credentials import CredentialSource

NOWHERE = Configuration("http://127.0.0.1:9", "eu-central-1", "kvs_token")
PATIENCE_SECONDS = 120
SHORT = Options(deadline_seconds=0.3)


def test_concurrent_callers_share_one_search():
    finding, may_end = [], threading.Event()

    def find():
        finding.append(threading.current_thread().name)
        may_end.wait()
        return Found("AKID", "secret")

    source = CredentialSource(find)
    assert source.ready() is None
    futures = [source.fetch() for _ in range(10)]
    may_end.set()
    assert {future.result().access_key for future in futures} == {"AKID"}
    assert finding == ["kvs-credentials"]
    assert source.ready().secret_key == "secret"


def test_expired_credentials_are_refreshed():
    refreshed = []

    def refresh():
        refreshed.append(True)
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        return {"access_key": "NEW", "secret_key": "s", "token": "t", "expiry_time": ends}

    source = CredentialSource(lambda: found)
    past = {"access_key": "OLD", "secret_key": "s", "token": "t", "expiry_time": "2020-01-01T00:00:00Z"}
    found = RefreshableCredentials.create_from_metadata(past, refresh, "test")
    assert source.fetch().result().access_key == "NEW"
    assert source.ready().access_key == "NEW"
    assert refreshed == [True]


def test_valid_credentials_are_used_while_a_refresh_hangs(monkeypatch):
    monkeypatch.setattr(credentials, "_PAUSE_SECONDS", 0)
    now, ends = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)], dt.datetime(2026, 1, 1, 1, tzinfo=dt.UTC)
    may_end, has_begun, refreshing = threading.Event(), threading.Event(), []

    def refresh():
        refreshing.append(True)
        has_begun.set()
        may_end.wait()
        return {"access_key": "NEW", "secret_key": "s", "token": "t", "expiry_time": "2026-01-02T00:00:00Z"}

    found = RefreshableCredentials("OLD", "s", "t", ends, refresh, "test", time_fetcher=lambda: now[0])
    source = CredentialSource(lambda: found)
    assert source.fetch().result().access_key == "OLD"
    now[0] = ends - dt.timedelta(minutes=5)
    assert [source.ready().access_key for _ in range(3)] == ["OLD"] * 3
    assert has_begun.wait(PATIENCE_SECONDS)
    now[0] = ends - dt.timedelta(seconds=5)
    assert source.ready() is None
    future = source.fetch()
    may_end.set()
    assert future.result().access_key == "NEW"
    assert source.ready().access_key == "NEW"
    assert refreshing == [True]


def test_error_does_not_quote_the_output_of_a_failed_program():
    def find():
        raise ValueError("the secret is 42")

    with Client(NOWHERE, find_credentials=find) as client, pytest.raises(NotAuthorized) as caught:
        client.get("k")
    assert (caught.value.code, caught.value.detail) == ("no_credentials", "credentials: ValueError")
    assert caught.value.__context__ is None


def test_next_call_searches_again_after_a_failure():
    found = [None, Found("AKID", "secret")]
    source = CredentialSource(lambda: found.pop(0))
    with pytest.raises(NotAuthorized):
        source.fetch().result()
    assert source.fetch().result().access_key == "AKID"


def test_deadline_includes_the_search_for_credentials():
    may_end = threading.Event()
    with Client(NOWHERE, SHORT, find_credentials=may_end.wait) as client, pytest.raises(DeadlineExceeded):
        client.get("k")
    may_end.set()


async def test_deadline_of_a_task_includes_the_search_for_credentials():
    may_end = threading.Event()
    async with AsyncClient(NOWHERE, SHORT, find_credentials=may_end.wait) as client:
        with pytest.raises(DeadlineExceeded):
            await client.get("k")
    may_end.set()
