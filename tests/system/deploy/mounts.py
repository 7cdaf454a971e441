"""Local copies of the files that pods of an installation mount."""

import secrets
from pathlib import Path

import trustme

from tests.system.deploy.policy.configuration import secret_files
from tests.system.deploy.policy.manifests import Manifests


def mount_rendered(manifests: Manifests, folder: Path, authority: trustme.CA | None = None) -> Path:
    """Writes configuration, secrets and certificates; returns the path of the configuration."""
    places = {name: place_of(mount["mountPath"], folder) for name, mount in manifests.mounts.items()}
    for place in places.values():
        place.mkdir()
    for name, text in manifests.config_map["data"].items():
        (places["config"] / name).write_text(here(text, manifests, folder))
    for file in secret_files(manifests.config):
        content = "redis://redis:6379/0" if file.endswith("/redis-url") else secrets.token_hex(32)
        (places["secrets"] / Path(file).name).write_text(content + "\n")
    for name, place in places.items():
        if name.endswith("-tls"):
            certificate = manifests.named("Certificate", f"kvs-gateway-{name.removesuffix('-tls')}")
            _issue(certificate["spec"]["dnsNames"], place, authority or trustme.CA())
    return places["config"] / "config.yaml"


def here(text: str, manifests: Manifests, folder: Path) -> str:
    """Replaces pod paths in a text with local ones."""
    for mount in manifests.mounts.values():
        text = text.replace(mount["mountPath"], str(place_of(mount["mountPath"], folder)))
    return text


def place_of(mount_path: str, folder: Path) -> Path:
    """Returns the local path of a path in a pod."""
    return folder / mount_path.strip("/").replace("/", "-")


def _issue(names: list[str], place: Path, authority: trustme.CA) -> None:
    issued = authority.issue_cert(*names)
    issued.cert_chain_pems[0].write_to_path(place / "tls.crt")
    issued.private_key_pem.write_to_path(place / "tls.key")
    authority.cert_pem.write_to_path(place / "ca.crt")
