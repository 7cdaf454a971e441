"""Identities of the cluster: an authority, certificates and tokens, all made for one run."""

import secrets
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.cluster.enclosure import NODE_ADDRESS

SERVICE_ADDRESSES = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"
API = f"https://{NODE_ADDRESS}:6443"

USERS = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-proxy": ("system:kube-proxy", "system:node-proxier"),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kubelet": ("system:node:node", "system:nodes"),
}
"""User and groups of each kubeconfig."""

_SERVERS = {
    "apiserver": ("kubernetes.default.svc", FIRST_SERVICE, NODE_ADDRESS, "127.0.0.1"),
    "kubelet": ("node", NODE_ADDRESS),
}
_CLIENTS = {
    "apiserver-kubelet": ("apiserver", "system:masters"),
    "front-proxy": ("front-proxy", "front-proxy"),
}


def issue(folder: Path) -> None:
    """Files that the components name: `NAME.crt` and `NAME.key`, `NAME.kubeconfig`, `tokens.csv`."""
    folder.mkdir()
    for name in ("ca", "front-proxy-ca"):
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / f"{name}.crt")
        for certificate, names in (_SERVERS if name == "ca" else {}).items():
            _write(authority.issue_cert(*names), folder, certificate)
        for certificate, (user, group) in _CLIENTS.items():
            if certificate.startswith("front-proxy") == name.startswith("front-proxy"):
                _write(
                    authority.issue_cert(user, common_name=user, organization_name=group), folder, certificate
                )
    _write_account_keys(folder)
    lines = []
    for component, (user, group) in USERS.items():
        token = secrets.token_hex(32)
        lines.append(f'{token},{user},{component},"{group}"\n')
        (folder / f"{component}.kubeconfig").write_text(yaml.safe_dump(_kubeconfig(folder, token)))
    (folder / "tokens.csv").write_text("".join(lines))


def _write(certificate: trustme.LeafCert, folder: Path, name: str) -> None:
    certificate.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
    certificate.private_key_pem.write_to_path(folder / f"{name}.key")


def _write_account_keys(folder: Path) -> None:
    """Key that signs and verifies the tokens of service accounts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "accounts.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (folder / "accounts.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )


def _kubeconfig(folder: Path, token: str) -> dict[str, object]:
    cluster = {"server": API, "certificate-authority": str(folder / "ca.crt")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "cluster",
    }
