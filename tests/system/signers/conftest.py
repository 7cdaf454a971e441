"""A gateway in its own process, on the real clock, and the two kinds of credentials that functions have."""

import pytest
import requests

from tests.support.config import BASE, CONTROL_TOKEN, ROLE, TABLE_TOKEN
from tests.support.process import GatewayProcess
from tests.support.signing import REGION
from tests.system.signers.runtime import Runtime


@pytest.fixture(scope="session")
def gateway_process(tmp_path_factory):
    with GatewayProcess(BASE, tmp_path_factory.mktemp("gateway")) as process:
        yield process


@pytest.fixture(scope="session")
def static_runtime(gateway_process) -> Runtime:
    url = gateway_process.urls["data"]
    return Runtime(url, REGION, TABLE_TOKEN, "AKIDEXAMPLE", "test-secret-access-key")


@pytest.fixture(scope="session")
def session_runtime(gateway_process, static_runtime) -> Runtime:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(
            gateway_process.urls["control"] + "/v1/credentials",
            json={"role": ROLE, "org": "acme", "app": "shop", "env": "production"},
            headers={"Authorization": f"Bearer {CONTROL_TOKEN}"},
            timeout=10,
        )
    issued = answer.json()
    return static_runtime.but(
        access_key_id=issued["AccessKeyId"],
        secret_access_key=issued["SecretAccessKey"],
        session_token=issued["SessionToken"],
    )


@pytest.fixture(params=["static", "session"])
def runtime(request, static_runtime, session_runtime) -> Runtime:
    return static_runtime if request.param == "static" else session_runtime
