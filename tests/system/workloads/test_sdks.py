"""Unmodified AWS SDKs fetch and refresh credentials in both forms, and put and get with them."""

import json
import time

import pytest
import requests

from tests.support.config import TABLE_TOKEN
from tests.support.signing import Signer
from tests.system.workloads.programs import PROGRAMS, command_of, fetched


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """Installs a program once and returns its commands."""
    known = {}

    def commands_of(program: str) -> list[list[str]]:
        if program not in known:
            known[program] = command_of(program, tmp_path_factory.mktemp(program))
        return known[program]

    return commands_of


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_unmodified_sdk_fetches_and_refreshes(program, commands, pod):
    seen = []
    for credentials in fetched(commands(program), pod.variables):
        seen.append(credentials[0])
        assert _put(pod.data, Signer(*credentials)) == (200, {"ok": True})
    assert len(set(seen)) == len(seen) == 2


def _put(url: str, signer: Signer) -> tuple[int, object]:
    body = json.dumps({"key": "k", "value": 1}).encode()
    fields = {"Content-Type": "application/json", "X-KVS-Authorization": f"Bearer {TABLE_TOKEN}"}
    signed = signer.sign(f"{url}/v1/put", body, fields, at_seconds=time.time())
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{url}/v1/put", data=body, headers=signed, timeout=10)
    return answer.status_code, answer.json()
