"""`public_hosts` bounds the hosts that a signature may be for."""

import pytest

from tests.sigv4.wire import assert_refused, sign_by_hand
from tests.support.gateway import run_gateway

NOW = "20261120T000000Z"
HOSTS = {"public_hosts": ["KVS.example.com", "secure.example.com:443", "odd.example.com:8443"]}
MISMATCH = ("signature_mismatch", "InvalidSignatureException")


def for_host(host: str):
    return sign_by_hand({"Host": host, "X-Amz-Date": NOW}, names="host;x-amz-date", date=NOW)


@pytest.mark.parametrize(
    "host",
    [
        "kvs.example.com",
        "KVS.EXAMPLE.COM",
        "kvs.example.com:80",
        "kvs.example.com:443",
        "secure.example.com",
        "odd.example.com:8443",
        "Odd.Example.Com:8443",
    ],
)
async def test_a_listed_host_is_served_in_any_case_and_with_a_default_port(host):
    async with run_gateway(HOSTS) as gateway:
        assert (await for_host(host).send(gateway)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        "example.com",
        "kvs.example.com.evil.example",
        "kvs.example.com:8443",
        "kvs.example.com.",
        "odd.example.com",
        "kvs.example.com@evil.example",
        "127.0.0.1",
    ],
)
async def test_a_host_that_is_not_listed_is_refused_although_it_was_signed(host):
    async with run_gateway(HOSTS) as gateway:
        reply = await for_host(host).send(gateway)
        assert_refused(reply, "invalid_host", "InvalidSignatureException")
        assert host in reply.json["message"]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("Odd.example.com:844", "Odd.example.com:844"),
        ("[::1]", "[::1]"),
        ("Credential=AKIA/x", "malformed"),
        ("a" * 200, "a" * 128),
    ],
)
async def test_a_refused_host_is_shown_only_if_it_looks_like_a_host(host, shown):
    async with run_gateway(HOSTS) as gateway:
        reply = await for_host(host).send(gateway)
        assert reply.headers["x-kvs-error-detail"].startswith(f"Host: {shown}, allowed: ")
        assert reply.json["message"].startswith(f"Host '{shown}' is not")


async def test_the_host_header_decides_and_not_a_forwarded_one():
    async with run_gateway(HOSTS) as gateway:
        wire = for_host("evil.example.com").add("X-Forwarded-Host", "kvs.example.com")
        assert_refused(await wire.send(gateway), "invalid_host", "InvalidSignatureException")


async def test_without_a_list_any_signed_host_is_served(gateway):
    assert (await for_host("anything.example").send(gateway)).status == 200


async def test_another_host_than_the_signed_one_is_a_mismatch(gateway):
    wire = for_host("anything.example").set("Host", "another.example")
    assert_refused(await wire.send(gateway), *MISMATCH)


async def test_the_host_of_an_absolute_target_does_not_replace_the_signed_one():
    async with run_gateway(HOSTS) as gateway:
        wire = for_host("kvs.example.com").but(target=b"http://evil.example/v1/put")
        reply = await wire.send(gateway)
        assert (reply.status, reply.json) == (404, {"error": "not_found"})


async def test_a_long_name_is_compared_to_its_end():
    name = ".".join(["a" * 50] * 3) + ".example"
    async with run_gateway({"public_hosts": [name]}) as gateway:
        assert (await gateway.get("k", headers={"Host": name})).status == 200
        assert (await gateway.get("k", headers={"Host": name + "x"})).error == "invalid_host"
