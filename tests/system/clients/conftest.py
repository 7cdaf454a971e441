"""Gateways on memory and on Redis, with an app for each scenario and language; drivers."""

import zlib
from contextlib import ExitStack

import pytest

from tests.support.config import BASE, merged
from tests.support.process import PATIENT, GatewayProcess
from tests.support.redis import RedisServer
from tests.system.clients.driver import Driver
from tests.system.clients.languages import LANGUAGES, Language
from tests.system.clients.scenarios import Scenario, load

STORES = ("memory", "redis")


def app_of(scenario: Scenario, language: str) -> str:
    return f"{language}.{zlib.crc32(scenario.name.encode())}"


def token_of(scenario: Scenario, language: str) -> str:
    return f"token-of-{app_of(scenario, language)}"


def _apps():
    return [
        {
            "org": "clients",
            "app": app_of(scenario, language.name),
            "type": "api",
            "requests_per_minute": scenario.requests_per_minute,
            "tables": [{"name": "notes", "token": token_of(scenario, language.name)}],
        }
        for scenario in load()
        for language in LANGUAGES
        if scenario.server == "gateway"
    ]


@pytest.fixture(scope="session")
def gateways(tmp_path_factory):
    """Addresses of the gateways, by store."""
    with RedisServer() as redis:
        stores = {"memory": {"kind": "memory"}, "redis": {"kind": "redis", "url": redis.url}}
        config = {name: merged(BASE, {"store": store, "apps": _apps()}) for name, store in stores.items()}
        folders = {name: tmp_path_factory.mktemp(name) for name in STORES}
        with (
            GatewayProcess(config["memory"], folders["memory"]) as memory,
            GatewayProcess(config["redis"], folders["redis"], module=PATIENT) as on_redis,
        ):
            yield {"memory": memory.urls["data"], "redis": on_redis.urls["data"]}


@pytest.fixture(scope="session")
def driver_of(tmp_path_factory):
    """Starts the driver of a language, once."""
    started: dict[str, Driver] = {}
    with ExitStack() as stack:

        def start(language: Language) -> Driver:
            language.demand()
            if language.name not in started:
                folder = str(tmp_path_factory.mktemp(language.name))
                started[language.name] = stack.enter_context(Driver(language.command, folder))
            return started[language.name]

        yield start
