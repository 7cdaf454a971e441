"""Networks of a proxy without a secret: every client in them is trusted, so none may be public."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest

from gateway.config.loading import parse
from gateway.config.problems import InvalidConfiguration

FIRST_OCTETS = [IPv4Network((octet << 24, 8)) for octet in range(256)]
OF_EVERY_SIZE = [
    network.supernet(new_prefix=length)
    for network in map(ip_network, ("10.0.0.0/32", "127.0.0.1/32", "100.64.0.1/32", "8.8.8.8/32"))
    for length in range(33)
]
SIXTEENTHS = [IPv6Network((number << 124, 4)) for number in range(16)]
OF_EVERY_SIZE_6 = [
    network.supernet(new_prefix=length)
    for network in map(ip_network, ("fd00::1/128", "fe80::1/128", "::1/128", "2001:db8::1/128"))
    for length in range(129)
]


def _is_trusted(network: IPv4Network | IPv6Network) -> bool:
    proxy = f"{{trusted_proxy: {{networks: ['{network}']}}}}"
    roles = "['arn:aws:iam::123456789012:role/managed-app-*']"
    try:
        parse(f"region: x\nsignature: {{approved_roles: {roles}, credentials: {proxy}}}", {})
    except InvalidConfiguration:
        return False
    return True


def _probes(network: IPv4Network | IPv6Network) -> list[IPv4Address | IPv6Address]:
    """The first, the last and some addresses between them."""
    size = network.num_addresses
    return [network[index] for index in sorted({0, size // 5, size // 3, size // 2, size - 1})]


@pytest.mark.parametrize("networks", [FIRST_OCTETS, OF_EVERY_SIZE, SIXTEENTHS, OF_EVERY_SIZE_6], ids=len)
def test_no_network_with_an_address_of_the_internet_is_trusted_without_a_secret(networks):
    trusted = [network for network in networks if _is_trusted(network)]
    public = [network for network in trusted if any(address.is_global for address in _probes(network))]
    assert not public
    assert trusted or networks is SIXTEENTHS


def test_a_large_public_network_needs_a_secret_as_a_small_one_does():
    assert [_is_trusted(ip_network(each)) for each in ("8.0.0.0/8", "8.8.8.8/32", "10.0.0.0/7")] == [
        False
    ] * 3
