"""Clients that cannot be created, and their errors."""

import asyncio
import copy
import pickle
import sys

import pytest
from kvs_client import Configuration, ConfigurationError, KvsError, NotAuthorized, Options, from_env
from kvs_client.aio import AsyncClient


@pytest.mark.parametrize("platform", ["emscripten", "wasi"])
def test_client_is_refused_in_a_browser(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    for make in (lambda: from_env("notes"), lambda: AsyncClient(Configuration("http://h", "r", "t"))):
        with pytest.raises(ConfigurationError) as caught:
            make()
        assert caught.value.code == "browser"
        assert "backend apps only" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["kvs.example", "http://", "http://h:x", "http://h:99999", "http://h/?q", "http://h/#f", "http://h/a/../b",
     "http://h/%41", "http://u@h", "http://h\n", "file:///h", "http://[::1"],
)  # fmt: skip
def test_malformed_url_is_refused(url):
    with pytest.raises(ConfigurationError) as caught:
        Configuration(url, "eu-central-1", "token").check()
    assert caught.value.code == "invalid_variable"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://h", "h"),
        ("https://H:443/", "h"),
        ("http://h:8080/a/", "h:8080"),
        ("https://[::1]:8/", "[::1]:8"),
    ],
)
def test_host_is_that_of_the_url_without_its_default_port(url, host):
    configuration = Configuration(url, "eu-central-1", "token")
    configuration.check()
    assert configuration.host == host


@pytest.mark.parametrize("table", ["", "a-b", "a" * 33, "ä", "A/B"])
def test_invalid_table_name_is_refused(table):
    with pytest.raises(ConfigurationError):
        from_env(table)


@pytest.mark.parametrize("number", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_option_must_be_a_positive_number(number):
    for name in ("deadline_seconds", "connections"):
        with pytest.raises(ConfigurationError):
            Options(**{name: number})


def test_client_refuses_another_event_loop():
    client = AsyncClient(Configuration("http://127.0.0.1:9", "r", "t"), find_credentials=lambda: None)
    with pytest.raises(NotAuthorized):
        asyncio.run(client.get("k"))
    with pytest.raises(RuntimeError, match="belongs to another event loop"):
        asyncio.run(client.get("k"))


def test_configuration_does_not_print_its_token():
    assert "kvs_hidden" not in repr(Configuration("http://h", "eu-central-1", "kvs_hidden"))


@pytest.mark.parametrize("twin", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_error_can_be_copied_and_pickled(twin):
    error = NotAuthorized("invalid_region", "region: a", status=403, request_id="r")
    other: KvsError = twin(error)
    assert (type(other), vars(other), str(other)) == (type(error), vars(error), str(error))
    assert str(error).startswith("403 invalid_region: region: a; set SERVICE_KVS_REGION")
