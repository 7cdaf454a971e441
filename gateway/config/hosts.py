"""The names under which each listener serves."""

from ipaddress import ip_network

from gateway.config.dangers import dangers_of_calls, is_loopback
from gateway.config.settings import ControlListener, CredentialsListener, OpsListener, Settings
from gateway.domain.hosts import AcceptedHosts, accepted_names


def accepted_hosts(listener: OpsListener | ControlListener | CredentialsListener, key: str) -> AcceptedHosts:
    """Returns the names that a listener accepts: those of loopback and the configured ones.

    Off loopback any name is accepted if none is configured: probes and scrapes use the address of a pod, and
    clients a service name of the cluster.
    """
    if listener.hosts or is_loopback(listener.host):
        return AcceptedHosts(key, accepted_names(listener.host, *listener.hosts))
    return AcceptedHosts(key)


def hosts_of_calls(settings: Settings) -> AcceptedHosts | None:
    """Returns the names under which calls are accepted, or None if they need a secret that no stranger knows.

    Settings that are safe only on loopback are unsafe if a web page can reach it by DNS rebinding.
    """
    if not is_loopback(settings.listen.data.host) or not _need_no_secret(settings):
        return None
    public = settings.public_url.partition("://")[2].partition("/")[0]
    return AcceptedHosts(
        "public_hosts", accepted_names(settings.listen.data.host, public, *settings.public_hosts)
    )


def _need_no_secret(settings: Settings) -> bool:
    """Returns whether calls of this machine need no secret, or a published one.

    A proxy without a secret is known by its address, which a page in a browser of its machine has as well.
    """
    proxy = settings.signature.credentials.trusted_proxy
    networks = proxy.networks if proxy is not None and not proxy.secrets else ()
    return any(dangers_of_calls(settings)) or any(
        is_loopback(str(ip_network(network).network_address)) for network in networks
    )
