"""A gateway in its own process, on the real clock, whose credentials live for seconds; and a pod."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.credentialsplane.workloads import CONTAINER, TOKEN, vouch, vouched
from tests.support.clock import FakeClock
from tests.support.config import BASE, ROLE, merged
from tests.support.process import GatewayProcess

LIFETIME_SECONDS = 5
"""Short enough to see a refresh, long enough to use the credentials."""


@dataclass(frozen=True)
class Pod:
    """The URL of the data listener, and the environment of a program without a secret of its own."""

    name: str
    data: str
    variables: dict[str, str]


@pytest.fixture(scope="session")
def workload_files(tmp_path_factory):
    return tmp_path_factory.mktemp("workloads")


@pytest.fixture(scope="session")
def gateway_process(workload_files) -> Iterator[GatewayProcess]:
    short = {"signature": {"credentials": {"session": {"max_ttl_seconds": LIFETIME_SECONDS}}}}
    config = merged(merged(BASE, vouched(workload_files)), short)
    with GatewayProcess(config, workload_files) as process:
        yield process


@pytest.fixture(params=["web identity", "container"])
def pod(request, gateway_process, workload_files) -> Pod:
    url = gateway_process.urls["credentials"]
    file = workload_files / "token"
    if request.param == "web identity":
        file.write_text(vouch(clock=FakeClock(int(time.time() * 1000))))
        own = {
            "AWS_ENDPOINT_URL_STS": url,
            "AWS_ROLE_ARN": ROLE,
            "AWS_ROLE_SESSION_NAME": "session-1",
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(file),
        }
    else:
        file.write_text(TOKEN)
        own = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": url + CONTAINER,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(file),
        }
    nowhere = str(workload_files / "none")
    shared = {
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_CONFIG_FILE": nowhere,
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return Pod(request.param, gateway_process.urls["data"], inherited | shared | own)
