"""Callers named by a trusted proxy, which has verified the signature (Amazon API Gateway with IAM).

The proxy is trusted only if every configured condition holds: the shared secret in its header, and the
address of its connection. Both headers are dropped from the requests of all other peers.
"""

import hmac
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network

from gateway.credentials.keyring import role_of
from gateway.domain.call import Headers
from gateway.domain.errors import IncompleteSignature
from gateway.domain.model import Caller


class Networks:
    """Configured networks, which a peer's address may belong to; false if there are none."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network) for network in networks]
        self.contain = lru_cache(10_000)(self._contain)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def _contain(self, peer: str) -> bool:
        """Returns whether the peer is inside; a peer without an address is not.

        An IPv6 listener sees an IPv4 peer as ::ffff:a.b.c.d, which is matched as the IPv4 address.
        """
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)


NOWHERE = Networks(())


class TrustedProxy:
    """Recognizes the proxy by `secrets`, `networks` or both; any one of the secrets is enough.

    Header names are lower-case.
    """

    def __init__(
        self,
        *,
        caller_header: bytes,
        secret_header: bytes,
        secrets: Sequence[bytes],
        networks: Networks,
    ) -> None:
        self._caller_header = caller_header
        self._secret_header = secret_header
        self._secrets = secrets
        self._networks = networks

    def vouched_caller(self, headers: Headers, peer: str) -> Caller | None:
        """Returns the caller that a trusted proxy names; None for other peers, or if it names none."""
        if headers.repeated & {self._caller_header, self._secret_header}:
            raise IncompleteSignature("A header of the trusted proxy was sent more than once.")
        arn = headers.get(self._caller_header)
        if not arn or not self._is_trusted(headers, peer):
            return None
        return Caller(role_of(arn.decode("latin-1")))

    def strip(self, headers: Headers) -> Headers:
        """Drops the proxy's two headers from a request that it has not verified."""
        if headers.get(self._caller_header) is None and headers.get(self._secret_header) is None:
            return headers
        return headers.without(self._caller_header, self._secret_header)

    def _is_trusted(self, headers: Headers, peer: str) -> bool:
        if self._secrets:
            sent = headers.get(self._secret_header) or b""
            matches = [hmac.compare_digest(sent, secret) for secret in self._secrets]
            if not any(matches):
                return False
        return not self._networks or self._networks.contain(peer)
