"""The credentials listener: paths, rate limit per address, counts and log lines."""

import pytest

from gateway.credentialsplane.handler import AddressRateLimiter
from tests.credentialsplane.workloads import CONTAINER, TOKEN, configured, fetch
from tests.support.config import CONTROL_TOKEN
from tests.support.gateway import run_gateway


async def test_the_listener_is_off_by_default(gateway):
    assert set(gateway.replica.urls) == {"data", "ops", "control"}


@pytest.mark.parametrize("listener", ["data", "ops", "control"])
async def test_no_other_listener_serves_credentials(fetching, listener):
    head = f"GET {CONTAINER} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {CONTROL_TOKEN}\r\n"
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


async def test_all_requests_of_an_address_are_limited_per_minute():
    async with run_gateway(configured(requests_per_minute_per_address=3)) as gateway:
        answers = [await fetch(gateway, token) for token in (TOKEN, "wrong", TOKEN, TOKEN)]
        assert [answer.status for answer in answers] == [200, 401, 200, 429]
        assert answers[-1].headers["Retry-After"] == "60"
        gateway.clock.advance(59_999)
        assert (await fetch(gateway)).headers["Retry-After"] == "1"
        gateway.clock.advance(1)
        assert (await fetch(gateway)).status == 200


@pytest.mark.parametrize("field", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP"])
async def test_forwarding_headers_do_not_change_the_limited_address(field):
    async with run_gateway(configured(requests_per_minute_per_address=2)) as gateway:
        sent = [
            await gateway.fetch(
                "GET", CONTAINER, headers={"Authorization": TOKEN, field: f"192.0.2.{number}"}
            )
            for number in range(3)
        ]
        assert [answer.status for answer in sent] == [200, 200, 429]


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_the_limit_applies_to_an_ipv4_address_or_an_ipv6_64_network(clock, first, second, share):
    limiter = AddressRateLimiter(1, clock)
    assert limiter.admit(first) is None
    assert (limiter.admit(second) is not None) is share


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
