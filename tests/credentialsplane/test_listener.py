"""The credentials listener: paths, counts and log lines."""

import pytest

from tests.credentialsplane.workloads import CONTAINER, TOKEN, fetch
from tests.support.config import CONTROL_TOKEN


async def test_the_listener_is_off_by_default(gateway):
    assert set(gateway.replica.urls) == {"data", "ops", "control"}


@pytest.mark.parametrize("listener", ["data", "ops", "control"])
async def test_no_other_listener_serves_credentials(fetching, listener):
    head = f"GET {CONTAINER} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CONTROL_TOKEN}\r\n"
    answer = await fetching.send_raw(f"{head}Connection: close\r\n\r\n".encode(), listener=listener)
    assert b" 404 " in answer


@pytest.mark.parametrize(
    "path", ["/v1/put", "/v1/orgs", "/v1/credentials", "/metrics", "/livez", "/console/"]
)
async def test_nothing_else_is_served(fetching, path):
    for method in ("GET", "POST"):
        reply = await fetching.fetch(method, path, headers={"Authorization": f"Bearer {CONTROL_TOKEN}"})
        assert (reply.status, reply.error) == (404, "not_found")


@pytest.mark.parametrize(("method", "path", "allowed"), [("POST", CONTAINER, "GET"), ("GET", "/", "POST")])
async def test_another_method_is_refused(fetching, method, path, allowed):
    reply = await fetching.fetch(method, path)
    assert (reply.status, reply.headers["Allow"]) == (405, allowed)


async def test_requests_are_counted_by_outcome(fetching):
    assert (await _counts(fetching)) == {("container", "issued"): 0, ("web_identity", "issued"): 0}
    await fetch(fetching)
    await fetch(fetching, "wrong")
    await fetching.fetch("GET", "/nothing")
    assert await _counts(fetching) == {
        ("container", "issued"): 1,
        ("web_identity", "issued"): 0,
        ("container", "invalid_identity_token"): 1,
        ("other", "not_found"): 1,
    }


async def test_issued_credentials_are_an_audit_event_without_a_secret(fetching, caplog):
    given = (await fetch(fetching)).json
    (line,) = [record for record in caplog.records if record.name == "kvs.audit"]
    assert line.fields["environment"] == "acme/shop/production"
    assert line.fields["access_key_id"] == given["AccessKeyId"]
    assert line.fields["peer"] == "127.0.0.1"
    for secret in (TOKEN, given["SecretAccessKey"], given["Token"]):
        assert secret not in str(line.fields)


async def test_few_refusals_a_second_are_logged_and_no_token(fetching, caplog):
    for number in range(30):
        await fetch(fetching, f"wrong-workload-token-{number}")
    lines = [record for record in caplog.records if record.name == "kvs.credentials"]
    assert 0 < len(lines) <= 40
    assert "wrong-workload-token" not in str([line.fields for line in lines])


async def _counts(gateway) -> dict[tuple[str, str], float]:
    pattern = 'kvs_credentials_requests_total{form="'
    return {
        tuple(series.removeprefix(pattern).removesuffix('"}').split('",outcome="')): count
        for series, count in (await gateway.metrics()).items()
        if series.startswith(pattern)
    }
