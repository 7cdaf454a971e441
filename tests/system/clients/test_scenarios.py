"""Every client passes every scenario, on gateways with memory and Redis, and on a scripted server."""

import asyncio
import base64
from typing import Any

import pytest

from tests.support.stopwatch import PATIENCE_SECONDS
from tests.system.clients.conftest import STORES, token_of
from tests.system.clients.driver import Driver
from tests.system.clients.expectations import check_answers, check_error, check_seen
from tests.system.clients.languages import LANGUAGES, Language
from tests.system.clients.scenarios import OF_THE_SERVER, Call, Scenario, load
from tests.system.clients.scripted import ScriptedServer
from tests.system.clients.steps import Step

SECRET = "test-secret-access-key"
PATIENT = {"deadline_seconds": PATIENCE_SECONDS, "attempt_seconds": PATIENCE_SECONDS}
"""For scenarios that are not about deadlines."""


def every(server: str):
    """Pairs each scenario for this server with each language; threads cannot be cancelled."""
    pairs = [
        pytest.param(scenario, language, id=f"{language.name}: {scenario.name}")
        for scenario in load()
        for language in LANGUAGES
        if scenario.server == server
        and (language.cancels or not any(call.cancel_after_requests for call in scenario.calls))
    ]
    return pytest.mark.parametrize(("scenario", "language"), pairs)


@pytest.mark.parametrize("store", STORES)
@every("gateway")
async def test_with_a_gateway(scenario, store, language, gateways, driver_of):
    await _play(scenario, language, driver_of(language), gateways[store], None)


@every("script")
async def test_with_a_scripted_server(scenario, language, driver_of):
    driver = driver_of(language)
    token = token_of(scenario, language.name)
    steps = [Step(**_with_token(each, token)) for each in scenario.script] or [Step(status=500)]
    async with ScriptedServer(steps) as server:
        await _play(scenario, language, driver, server.url, server)
        check_seen(scenario.seen, server.seen)


def _with_token(step: Any, token: str) -> Any:
    """Replaces `{token}` in a step by the token of the client."""
    if isinstance(step, str):
        return step.replace("{token}", token)
    if isinstance(step, dict):
        return {name: _with_token(value, token) for name, value in step.items()}
    return step


async def _play(
    scenario: Scenario, language: Language, driver: Driver, url: str, server: ScriptedServer | None
) -> None:
    token = token_of(scenario, language.name)
    environment = {
        "SERVICE_KVS_URL": url,
        "SERVICE_KVS_REGION": "eu-central-1",
        "SERVICE_KVS_TOKEN_NOTES": token,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": None,
        **scenario.environment,
    }
    opened = await driver.do(
        "open", table="notes", environment=environment, options={**PATIENT, **scenario.options}
    )
    if scenario.opens is not None:
        check_error(scenario.opens, opened)
    else:
        assert "error" not in opened, opened
    for call in scenario.calls:
        if call.operation in OF_THE_SERVER:
            await _act(call, server)
            continue
        check_answers(call, await _make(call, driver, server))
    shown = await driver.do("show")
    assert shown["result"]
    secrets = (token, SECRET, "hidden", "another-secret", "another-token")
    assert [text for text in shown["result"] if any(secret in text for secret in secrets)] == []
    await driver.do("close")


async def _act(call: Call, server: ScriptedServer) -> None:
    if call.operation == "server_sends":
        await server.push(call.arguments["text"].encode("latin-1"))
    else:
        server.hang_up()


async def _make(call: Call, driver: Driver, server: ScriptedServer | None) -> list[dict[str, Any]]:
    arguments = dict(call.arguments)
    if "raw" in arguments:
        arguments["raw_base64"] = base64.b64encode(arguments.pop("raw").encode()).decode()
    begun = [driver.begin(call.operation, **arguments) for _ in range(call.times)]
    if call.cancel_after_requests is not None:
        await server.wait_for_requests(call.cancel_after_requests)
        await driver.do("cancel", target=begun[0][0])
    return list(await asyncio.gather(*(answer for _, answer in begun)))
