"""A server that listens with TLS only and admits named users only."""

import re
import ssl
from collections.abc import Sequence
from pathlib import Path

import trustme

from tests.support.coverage import not_covered
from tests.support.ports import HOST
from tests.support.redis.binary import speaks_tls
from tests.support.redis.observer import Observer
from tests.support.redis.server import Directive, RedisServer
from tests.support.repository import ROOT

USER, PASSWORD = "gateway", "correct-horse"
OBSERVER = ("observer", "battery-staple")
STORES = (ROOT / "docs" / "stores.md").read_text()
COMMANDS = re.search(r"^ACL SETUSER gateway .+ -@all \+(.+)$", STORES, re.MULTILINE)[1].split(" +")
"""The commands that the documents allow the gateway."""


class TlsServer(RedisServer):
    """A server without the default user; `USER` may run `commands` on keys that match `keys`."""

    def __init__(
        self, *, keys: str = "~kvs*", commands: Sequence[str] = COMMANDS, **directives: Directive
    ) -> None:
        if not speaks_tls():
            not_covered("this redis-server was built without TLS")
        allowed = " ".join(f"+{command}" for command in commands)
        user, password = OBSERVER
        users = (
            "default off",
            f"{USER} on >{PASSWORD} {keys} -@all {allowed}",
            f"{user} on >{password} ~* &* +@all",
        )
        super().__init__(user=users, **directives)
        authority = trustme.CA()
        self._certificate = authority.issue_cert(HOST, "localhost")
        self._client_certificate = authority.issue_cert("gateway.internal")
        self.ca_file = self.directory / "ca.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))

    @property
    def url(self) -> str:
        return f"rediss://{USER}:{PASSWORD}@{HOST}:{self.port}/0"

    def client_files(self) -> dict[str, str]:
        """A certificate for clients, and its key, as the settings name them."""
        chain, key = self.directory / "client.pem", self.directory / "client.key"
        _write_certificate(self._client_certificate, chain, key)
        return {"certificate": str(chain), "key": str(key)}

    def _observer(self) -> Observer:
        context = ssl.create_default_context(cafile=self.ca_file)
        client = self.client_files()
        context.load_cert_chain(client["certificate"], client["key"])
        return Observer(self.port, OBSERVER, context)

    def _configuration(self) -> dict[str, Directive]:
        chain, key = self.directory / "server.pem", self.directory / "server.key"
        _write_certificate(self._certificate, chain, key)
        return {
            **super()._configuration(),
            "port": 0,
            "tls-port": self.port,
            "tls-cert-file": f'"{chain}"',
            "tls-key-file": f'"{key}"',
            "tls-ca-cert-file": f'"{self.ca_file}"',
            "tls-auth-clients": "no",
        }


def _write_certificate(certificate: trustme.LeafCert, chain: Path, key: Path) -> None:
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(str(chain), append=blob is not certificate.cert_chain_pems[0])
    certificate.private_key_pem.write_to_path(str(key))
