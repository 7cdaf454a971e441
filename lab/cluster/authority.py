"""Stands where cert-manager would: issues what Certificates ask for, once."""

import base64

import trustme

from lab.cluster.kubectl import Kubectl


class Authority:
    """A private one, for names in `.svc`."""

    def __init__(self) -> None:
        self._authority = trustme.CA()

    @property
    def certificate(self) -> str:
        return self._authority.cert_pem.bytes().decode()

    def issue(self, kubectl: Kubectl, namespace: str) -> None:
        """The Secrets that the namespace's Certificates name."""
        for certificate in kubectl.get("--namespace", namespace, "certificates.cert-manager.io"):
            spec = certificate["spec"]
            issued = self._authority.issue_cert(*spec["dnsNames"])
            content = {
                "tls.crt": issued.cert_chain_pems[0].bytes(),
                "tls.key": issued.private_key_pem.bytes(),
                "ca.crt": self._authority.cert_pem.bytes(),
            }
            kubectl.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "type": "kubernetes.io/tls",
                    "metadata": {"name": spec["secretName"], "namespace": namespace},
                    "data": {name: base64.b64encode(text).decode() for name, text in content.items()},
                }
            )
