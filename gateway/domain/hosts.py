"""Names under which a listener serves: the field Host of a request.

A page whose own name resolves to 127.0.0.1 reaches listeners on loopback through the browser that shows it
(DNS rebinding). The browser treats them as the page's origin: it sends any header field, and the page can
read any answer. Only Host still names the site of the page.
"""

import re

from msgspec import Struct

from gateway.domain.call import Headers
from gateway.domain.errors import UnknownHost

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

_SHOWN = re.compile(r"[A-Za-z0-9._:\[\]-]{1,64}")


class AcceptedHosts(Struct, frozen=True):
    """Names in lower case that are served on any port, or None for any name. `key` configures more."""

    key: str
    names: frozenset[bytes] | None = None

    def accept(self, headers: Headers) -> bool:
        """Returns whether a request is for one of the names. A request without Host is for none."""
        return self.names is None or name_of(headers.get(b"host", b"")) in self.names

    def check(self, headers: Headers) -> None:
        """Raises UnknownHost for a request for another name."""
        if not self.accept(headers):
            raise UnknownHost(self.explain(headers))

    def explain(self, headers: Headers) -> str:
        """Returns the detail of a refusal."""
        host = headers.get(b"host", b"").decode("latin-1")
        shown = host if _SHOWN.fullmatch(host) else "missing or malformed"
        return f"Host: {shown}, allowed: {', '.join(LOOPBACK_NAMES)}, and the names in {self.key}"


def name_of(host: bytes) -> bytes:
    """Returns a host in lower case, without its port."""
    name, colon, port = host.rpartition(b":")
    has_port = colon and not host.endswith(b"]") and len(port) <= 5 and (port.isdigit() or not port)
    return (name if has_port else host).lower()


def accepted_names(*hosts: str) -> frozenset[bytes]:
    """Returns the names of loopback, and of `hosts`: names and addresses, with or without a port."""
    return frozenset(_as_sent(host) for host in (*LOOPBACK_NAMES, *hosts))


def _as_sent(host: str) -> bytes:
    """Returns a host as clients name it: an IPv6 address in brackets."""
    is_bare_ipv6 = host.count(":") > 1 and not host.startswith("[")
    return name_of((f"[{host}]" if is_bare_ipv6 else host).encode())
