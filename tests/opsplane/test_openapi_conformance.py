"""A running gateway answers as the OpenAPI document says, whatever of all that it allows is asked."""

import re

import pytest
import requests
import schemathesis
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.credentialsplane.workloads import TOKEN, configured
from tests.opsplane.openapi import DOCUMENT
from tests.support.config import BASE, CONTROL_TOKEN, TABLE_TOKEN, merged
from tests.support.process import GatewayProcess
from tests.support.signing import REGION

CONFIG = schemathesis.Config.from_dict(
    {"generation": {"mode": "all"}, "phases": {"coverage": {"enabled": True}, "stateful": {"enabled": False}}}
)
API = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
PROMISES = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
"""Without the checks that what breaks the schema is refused: unknown fields are ignored, and a limit in bytes
refuses what the limit in characters lets pass."""

FEW = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


class Signed(requests.auth.AuthBase):
    """Signs what is about to be sent, and adds the table's token."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["X-KVS-Authorization"] = f"Bearer {TABLE_TOKEN}"
        names = ("Content-Type", "X-KVS-Authorization")
        fields = {name: request.headers[name] for name in names if name in request.headers}
        signed = AWSRequest(request.method, request.url, data=request.body or b"", headers=fields)
        SigV4Auth(Credentials("AKIDEXAMPLE", "test-secret-access-key"), "execute-api", REGION).add_auth(
            signed
        )
        request.headers.update(dict(signed.headers))
        return request


class Workload(requests.auth.AuthBase):
    """Sends a workload's token."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = TOKEN
        return request


class Operator(requests.auth.AuthBase):
    """Sends the control token."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {CONTROL_TOKEN}"
        return request


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    config = merged(BASE, {"rate_limit": {"requests_per_minute": 1_000_000_000}})
    config = merged(config, configured(requests_per_minute_per_address=1_000_000_000))
    with GatewayProcess(config, tmp_path_factory.mktemp("gateway")) as process:
        yield process.urls
        assert "Traceback" not in process.log.read_text()


@API.include(tag="data").parametrize()
@FEW
def test_the_data_plane_answers_as_documented(case, urls):
    case.call_and_validate(base_url=urls["data"], auth=Signed(), checks=PROMISES)


@API.include(tag="control").parametrize()
@FEW
def test_the_control_plane_answers_as_documented(case, urls):
    case.call_and_validate(base_url=urls["control"], auth=Operator(), checks=PROMISES)


@API.include(tag="credentials").parametrize()
@FEW
def test_the_credentials_listener_answers_as_documented(case, urls):
    case.call_and_validate(base_url=urls["credentials"], auth=Workload(), checks=PROMISES)


def operations(tag: str) -> list[tuple[str, str]]:
    """Method and path of each operation, with a value for each parameter of the path."""
    return [
        (method.upper(), re.sub(r"{\w+}", "x", path))
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if tag in (operation.get("tags", ()) if isinstance(operation, dict) else ())
    ]


@pytest.mark.parametrize(("method", "path"), operations("data"))
def test_no_data_is_served_without_a_signature(method, path, urls):
    headers = {"X-KVS-Authorization": f"Bearer {TABLE_TOKEN}"}
    body = {"key": "k"} | ({"value": 1} if path.endswith("put") else {})
    response = requests.request(method, urls["data"] + path, json=body, headers=headers, timeout=60)
    assert response.status_code == 403, response.text


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}], ids=["no token", "unknown token"])
@pytest.mark.parametrize(("method", "path"), operations("control"))
def test_no_management_call_succeeds_without_a_token(method, path, headers, urls):
    response = requests.request(method, urls["control"] + path, json={}, headers=headers, timeout=60)
    assert response.status_code == 401, response.text
