"""Contradictions in `signature.credentials`: roles without approval, proxies that anyone can impersonate."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network

from gateway.config.problems import Problems, repeats
from gateway.config.settings import CredentialSettings, Settings, TrustedProxySettings
from gateway.credentials.keyring import ApprovedRoles
from gateway.domain.rules import BEARER_TOKEN, is_repetitive

IS_REPETITIVE = "repeats the same few characters"

_PATH = "signature.credentials"
_PROXY = f"{_PATH}.trusted_proxy"

_OTHER_MEANING = re.compile(
    r"(accept|access-control|content|if|proxy|sec|x-amzn?|x-forwarded)-.*"
    r"|accept|authorization|cache-control|connection|cookie|date|expect|forwarded|from|host|keep-alive|max-forwards"
    r"|origin|pragma|priority|range|referer|te|trailer|transfer-encoding|upgrade|user-agent|via|x-real-ip"
    r"|traceparent|tracestate|x-kvs-authorization|x-request-id"
)
"""Header fields with another purpose: proxies pass them on from clients, or the gateway reads them."""

_PRIVATE_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",  # RFC 1918
        "100.64.0.0/10",  # RFC 6598
        "127.0.0.0/8",
        "169.254.0.0/16",
    )
)
_PRIVATE_IPV6 = tuple(IPv6Network(network) for network in ("fc00::/7", "fe80::/10", "::1/128"))
"""Addresses that are not reachable from the internet: private, shared, loopback and link-local."""

_IPV4_MAPPED = IPv6Network("::ffff:0:0/96")
"""IPv4 addresses as an IPv6 socket shows them; peers are matched as IPv4."""

_ACCOUNT = re.compile(r"[0-9]{12}")


def check_callers(settings: Settings, problems: Problems) -> None:
    """Notes every contradiction in the credentials of callers."""
    credentials = settings.signature.credentials
    roles = ApprovedRoles(settings.signature.approved_roles)
    for index, credential in enumerate(credentials.static):
        if not roles.approves(credential.role):
            problems.add(f"{_PATH}.static[{index}].role", "is not one of signature.approved_roles")
    for index in repeats([credential.access_key_id for credential in credentials.static]):
        problems.add(f"{_PATH}.static[{index}].access_key_id", "is given more than once")
    for path, secret in secrets_of(credentials):
        if is_repetitive(secret):
            problems.add(path, IS_REPETITIVE)
    _check_networks(settings.signature.denied_networks, "signature.denied_networks", problems)
    if credentials.trusted_proxy is not None:
        _check_headers(credentials.trusted_proxy, problems)
        _check_trust(credentials.trusted_proxy, problems)
        _check_accounts(settings.signature.approved_roles, problems)


def secrets_of(credentials: CredentialSettings) -> Iterator[tuple[str, str]]:
    """Yields all secrets of callers, proxies and session credentials, with their paths."""
    for index, credential in enumerate(credentials.static):
        yield f"{_PATH}.static[{index}].secret_access_key", credential.secret_access_key
    for index, key in enumerate(credentials.session.master_keys if credentials.session else ()):
        yield f"{_PATH}.session.master_keys[{index}]", key
    if credentials.trusted_proxy is not None:
        yield from _proxy_secrets(credentials.trusted_proxy)


def _proxy_secrets(proxy: TrustedProxySettings) -> Iterator[tuple[str, str]]:
    for index, secret in enumerate(proxy.secrets):
        place = f"[{index}]" if isinstance(proxy.secret, list) else ""
        yield f"{_PROXY}.secret{place}", secret


def _check_headers(proxy: TrustedProxySettings, problems: Problems) -> None:
    for key, name in (("caller_header", proxy.caller_header), ("secret_header", proxy.secret_header)):
        if _OTHER_MEANING.fullmatch(name.lower()):
            problems.add(f"{_PROXY}.{key}", "is a header with another purpose: choose another name")
    if proxy.caller_header.lower() == proxy.secret_header.lower():
        problems.add(f"{_PROXY}.secret_header", "is the same as caller_header")


def _check_trust(proxy: TrustedProxySettings, problems: Problems) -> None:
    if not proxy.secrets and not proxy.networks:
        problems.add(_PROXY, "needs a secret, networks, or both")
    for path, secret in _proxy_secrets(proxy):
        if not BEARER_TOKEN.fullmatch(secret.encode()):
            problems.add(path, "contains a space or a control character")
    networks = _check_networks(proxy.networks, f"{_PROXY}.networks", problems)
    for path, network in networks.items() if not proxy.secrets else ():
        if not _is_private(network):
            problems.add(path, "is not a private network: configure a secret as well")


def _check_networks(texts: list[str], path: str, problems: Problems) -> dict[str, IPv4Network | IPv6Network]:
    """Notes texts that are no networks, and returns the others by path."""
    networks = {}
    for index, text in enumerate(texts):
        try:
            network = ip_network(text)
        except ValueError:
            problems.add(f"{path}[{index}]", "expected a network like 10.0.0.0/8")
            continue
        if isinstance(network, IPv6Network) and network.subnet_of(_IPV4_MAPPED):
            problems.add(f"{path}[{index}]", "matches no address: write it as IPv4, like 10.0.0.0/8")
            continue
        networks[f"{path}[{index}]"] = network
    return networks


def _is_private(network: IPv4Network | IPv6Network) -> bool:
    if isinstance(network, IPv4Network):
        return any(network.subnet_of(each) for each in _PRIVATE_IPV4)
    return any(network.subnet_of(each) for each in _PRIVATE_IPV6)


def _check_accounts(patterns: list[str], problems: Problems) -> None:
    """Requires an account in each pattern: anyone can create a matching role in their own account (D145)."""
    for index, pattern in enumerate(patterns):
        parts = pattern.split(":")
        if len(parts) < 6 or not _ACCOUNT.fullmatch(parts[4]):
            problems.add(
                f"signature.approved_roles[{index}]",
                "needs an account of 12 digits, because trusted_proxy accepts callers of any account",
            )
