"""Listeners on loopback serve under their own names only: no page rebinds its name to them."""

import re

import pytest

from gateway.config.hosts import accepted_hosts, hosts_of_calls
from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration
from gateway.domain.call import Headers
from tests.credentialsplane.workloads import CONTAINER, TOKEN, configured
from tests.replica.watched import watching
from tests.support.config import CONTROL_TOKEN, ROLE, TABLE_TOKEN, merged
from tests.support.gateway import run_gateway

OWN = [
    "localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:8081", "127.0.0.1:", "[::1]", "[::1]:65535",
]  # fmt: skip
FOREIGN = [
    "rebound.example", "rebound.example:8081", "localhost.rebound.example", "127.0.0.1.rebound.example",
    "localhost.", "localhost:1:1", "localhost:x", "localhost:123456", "127.0.0.2",
    "127.0.0.1@rebound.example", "127.1", "2130706433", "0.0.0.0", "0.0.0.0:8081", "[::]", "[::1",
    "::1", "[::ffff:127.0.0.1]", "", "rebound.example, localhost", "localhost, rebound.example",
    "\xe9", "10.0.0.7:8081",
]  # fmt: skip
PATHS = {
    "control": ["/v1/whoami", "/v1/sign-in", "/console/", "/console", "/nowhere"],
    "ops": ["/metrics", "/metrics/usage", "/metrics/service", "/livez", "/readyz", "/nowhere"],
    "credentials": [CONTAINER, "/", "/nowhere"],
}  # fmt: skip
GOODBYE = b"GET /nowhere HTTP/1.0\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
SERVED = {"control": "/v1/whoami", "ops": "/metrics", "credentials": CONTAINER}
BEARER = {"control": f"Bearer {CONTROL_TOKEN}", "ops": "none", "credentials": TOKEN}


def request(listener, host, path=None, method="GET"):
    """Returns a request with the credentials of a caller."""
    lines = [
        f"{method} {path or SERVED[listener]} HTTP/1.1",
        f"Authorization: {BEARER[listener]}",
        f"Host: {host}",
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def statuses(gateway, listener, hosts):
    """Returns the statuses of requests for the hosts, which share a connection."""
    requests = b"".join(request(listener, host) for host in hosts)
    return STATUS.findall(await gateway.send_raw(requests + GOODBYE, listener=listener))[:-1]


@pytest.fixture
async def serving():
    async with run_gateway(configured()) as gateway:
        yield gateway


@pytest.mark.parametrize("listener", SERVED)
async def test_a_listener_on_loopback_serves_under_the_names_of_loopback(serving, listener):
    assert await statuses(serving, listener, OWN) == [b"200"] * len(OWN)


@pytest.mark.parametrize("listener", SERVED)
async def test_a_listener_on_loopback_refuses_every_other_host(serving, listener):
    assert await statuses(serving, listener, FOREIGN) == [b"403"] * len(FOREIGN)


@pytest.mark.parametrize("listener", SERVED)
async def test_the_refusal_names_the_host_and_the_key_that_allows_it(serving, listener):
    answer = await serving.send_raw(request(listener, "rebound.example") + GOODBYE, listener=listener)
    allowed = f"localhost, 127.0.0.1, [::1], and the names in listen.{listener}.hosts"
    assert f"x-kvs-error-detail: Host: rebound.example, allowed: {allowed}\r\n".encode() in answer
    assert b'{"error":"invalid_host"}' in answer


@pytest.mark.parametrize("listener", SERVED)
async def test_a_request_without_a_host_is_refused(serving, listener):
    for version in (b"1.0", b"1.1"):
        path, bearer = SERVED[listener].encode(), BEARER[listener].encode()
        head = b"GET %b HTTP/%b\r\nAuthorization: %b\r\n\r\n" % (path, version, bearer)
        assert b" 200 " not in await serving.send_raw(head, listener=listener)


@pytest.mark.parametrize("listener", SERVED)
async def test_a_foreign_host_learns_nothing_from_path_or_method(serving, listener):
    asked = [(path, method) for path in PATHS[listener] for method in ("GET", "POST", "OPTIONS")]
    sent = b"".join(request(listener, "rebound.example", path, method) for path, method in asked)
    answers = await serving.send_raw(sent + GOODBYE, listener=listener)
    assert STATUS.findall(answers)[:-1] == [b"403"] * len(asked)
    assert answers.count(b'{"error":"invalid_host"}') == len(asked) + 1


async def test_two_hosts_are_none(serving):
    for hosts in ("localhost\r\nHost: rebound.example", "rebound.example\r\nHost: localhost"):
        assert b" 200 " not in await serving.send_raw(request("control", hosts), listener="control")


async def test_a_foreign_host_changes_nothing_and_is_counted_as_a_refusal(serving):
    headers = {"Host": "rebound.example"}
    refused = await serving.manage("PUT", "/v1/orgs/o/apps/a", {"type": "api"}, headers=headers)
    assert (refused.status, refused.error) == (403, "invalid_host")
    assert (await serving.manage("GET", "/v1/orgs/o/apps/a")).error == "app_not_found"
    counted = (await serving.metrics())['kvs_control_requests_total{action="authenticate",outcome="refused"}']
    assert counted == 1


async def test_a_foreign_host_takes_no_share_of_the_exchanges_of_an_address():
    async with run_gateway(configured(requests_per_minute_per_address=1)) as gateway:
        hosts = ["rebound.example"] * 3 + ["localhost"]
        assert await statuses(gateway, "credentials", hosts) == [b"403"] * 3 + [b"200"]


@pytest.mark.parametrize("listener", SERVED)
async def test_configured_names_are_served_as_well(listener):
    names = ["Gateway.Internal", "10.0.0.7", "fd00::7", "[fd00::8]"]
    own = ["gateway.internal", "gateway.internal:443", "10.0.0.7:1", "[fd00::7]", "[FD00::8]:2", "localhost"]
    foreign = ["internal", "x.gateway.internal", "10.0.0.70"]
    async with run_gateway(merged(configured(), {"listen": {listener: {"hosts": names}}})) as gateway:
        answered = await statuses(gateway, listener, own + foreign)
    assert answered == [b"200"] * len(own) + [b"403"] * len(foreign)


@pytest.mark.parametrize(
    ("listener", "host", "is_served"),
    [
        ("{host: 0.0.0.0}", "10.1.2.3:9090", True),
        ("{host: '::'}", "kvs-gateway.kvs.svc:9090", True),
        ("{host: 10.1.2.3}", "anything", True),
        ("{host: 0.0.0.0, hosts: [ops.internal]}", "ops.internal:9090", True),
        ("{host: 0.0.0.0, hosts: [ops.internal]}", "localhost:9090", True),
        ("{host: 0.0.0.0, hosts: [ops.internal]}", "10.1.2.3:9090", False),
        ("{host: 127.0.0.9}", "127.0.0.9:9090", True),
        ("{host: 127.0.0.9}", "127.0.0.8:9090", False),
        ("{host: '::1'}", "[::1]:9090", True),
        ("{host: Localhost}", "rebound.example", False),
        ("{host: '::ffff:127.0.0.1'}", "rebound.example", False),
    ],
)
def test_off_loopback_any_host_is_served_unless_names_are_configured(listener, host, is_served):
    ops = parse(f"region: x\nlisten: {{ops: {listener}}}", {}).listen.ops
    headers = Headers([(b"Host", host.encode())])
    assert accepted_hosts(ops, "listen.ops.hosts").accept(headers) is is_served


@pytest.mark.parametrize("name", ["gateway:8081", "https://gateway", "a b", "", "[x]", "a/b", "é"])
def test_a_name_with_anything_else_is_a_mistake(name):
    with pytest.raises(InvalidConfiguration) as caught:
        parse(f"region: x\nlisten: {{control: {{hosts: ['{name}']}}}}", {})
    assert caught.value.report == [
        {
            "path": "listen.control.hosts[0]",
            "problem": "expected a host name or IP address without a port",
        }
    ]


OPEN = {"signature": {"mode": "off"}}
SESSION = "signature: {credentials: {session: {master_keys: [%s]}}}"
PROXY = (
    "signature: {approved_roles: ['arn:aws:iam::123456789012:role/app'], credentials: {trusted_proxy: {%s}}}"
)


@pytest.mark.parametrize("host", ["rebound.example", "10.0.0.7:8080"])
async def test_calls_without_a_signature_are_served_under_the_names_of_loopback_only(host):
    async with run_gateway(OPEN) as gateway:
        own = await gateway.get("k", signer=None, headers={"Host": "localhost:1"})
        foreign = await gateway.get("k", signer=None, headers={"Host": host})
        assert (own.status, foreign.status, foreign.error) == (200, 403, "invalid_host")
        assert foreign.headers["x-kvs-error-detail"].endswith("and the names in public_hosts")


async def test_calls_without_a_signature_are_served_under_the_public_names():
    names = {"public_url": "https://kvs.example.com:444/base", "public_hosts": ["kvs.internal:8443"]}
    async with run_gateway(OPEN | names) as gateway:
        for host in ("kvs.example.com", "KVS.internal"):
            assert (await gateway.get("k", signer=None, headers={"Host": host})).status == 200
        assert (await gateway.get("k", signer=None, headers={"Host": "x.internal"})).status == 403


@pytest.mark.parametrize(
    ("changes", "is_checked"),
    [
        ("signature: {mode: off}", True),
        (SESSION % "dev-session-master-key-of-32-characters", True),
        (SESSION % "a-master-key-of-at-least-32-characters", False),
        (PROXY % "networks: [10.0.0.0/8, 127.0.0.1/32]", True),
        (PROXY % "networks: ['::1/128']", True),
        (PROXY % "networks: [127.0.0.0/8], secret: the-secret-of-the-proxy", False),
        (PROXY % "networks: [10.0.0.0/8]", False),
        ("signature: {mode: off, allow_public: true}\nlisten: {data: {host: 0.0.0.0}}", False),
    ],
)
def test_signed_calls_keep_any_host_unless_a_stranger_could_sign(changes, is_checked):
    assert (hosts_of_calls(parse(f"region: x\n{changes}", {})) is not None) is is_checked


async def test_calls_of_a_proxy_without_a_secret_are_served_under_the_own_names_only():
    """A page in a browser of the machine has the address of the proxy."""
    proxy = {"networks": ["127.0.0.0/8"]}
    roles = ["arn:aws:iam::123456789012:role/managed-app-*"]
    signature = {"approved_roles": roles, "credentials": {"trusted_proxy": proxy}}
    async with run_gateway({"signature": signature, "public_url": "https://kvs.example.com"}) as gateway:
        vouched = {"X-KVS-Caller-Arn": ROLE}
        for host, status in (("localhost", 200), ("kvs.example.com", 200), ("rebound.example", 403)):
            reply = await gateway.get("k", signer=None, headers={**vouched, "Host": host})
            assert reply.status == status
        assert reply.error == "invalid_host"


async def test_a_reload_that_ends_signatures_checks_the_host_from_the_next_call_on(tmp_path):
    async with watching(tmp_path) as watched:
        headers = {"Host": "proxied.example"}
        assert (await watched.gateway.get("k", headers=headers)).status == 200
        await watched.reload(signature={"mode": "off"})
        assert (await watched.gateway.get("k", headers=headers, token=TABLE_TOKEN)).error == "invalid_host"
