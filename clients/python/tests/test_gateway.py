"""The pytest plugin and the session example, with a running gateway."""

import importlib.util
from pathlib import Path

import pytest
from kvs_client import aio, from_env
from kvs_client.testing import run_gateway

EXAMPLE = Path(__file__).parents[1] / "examples" / "sessions.py"


def test_client_works_with_the_fixture(kvs_environment):
    with from_env("sessions") as sessions:
        sessions.put("id", {"user": 1}, ttl_seconds=60)
        assert sessions.get("id").value == {"user": 1}


async def test_asynchronous_client_works_with_the_fixture(kvs_environment):
    async with aio.from_env("sessions", prefix="users:") as users:
        assert await users.get_or_set("1", made) == {"name": "Zoë"}
        assert (await users.get_raw("1")).value == '{"name":"Zoë"}'.encode()


async def made():
    return {"name": "Zoë"}


def test_error_names_a_missing_command(monkeypatch):
    monkeypatch.setenv("KVS_GATEWAY_COMMAND", "no-such-command")
    with pytest.raises(FileNotFoundError, match="no-such-command"), run_gateway():
        pass


def test_example_keeps_one_session_per_visitor(kvs_environment):
    specification = importlib.util.spec_from_file_location("sessions", EXAMPLE)
    sessions = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(sessions)
    app = sessions.create_app()
    one, other = (app.test_client() for _ in range(2))
    visits = [client.get("/", base_url="https://app.example").json["visits"] for client in (one, one, other)]
    assert visits == [1, 2, 1]
    other.set_cookie("session_id", "x" * 2_000, domain="app.example")
    assert other.get("/", base_url="https://app.example").json["visits"] == 1
