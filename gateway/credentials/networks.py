"""Membership of a peer's address in configured networks."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network


class Networks:
    """Networks from the configuration; false if there are none."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network) for network in networks]
        self.contain = lru_cache(10_000)(self._contain)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def _contain(self, peer: str) -> bool:
        """Whether the peer is inside; a peer without an address is not.

        An IPv6 listener sees an IPv4 peer as ::ffff:a.b.c.d, which is matched as the IPv4 address.
        """
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)


NOWHERE = Networks(())
