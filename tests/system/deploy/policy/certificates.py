"""Certificates of the listeners that others reach: issued, mounted and shown."""

from collections.abc import Iterator

from tests.system.deploy.policy.manifests import Manifests, at, differences
from tests.system.deploy.policy.traffic import opened

NAMESPACE = "kvs-gateway"


def opened_listeners_show_their_certificate(manifests: Manifests) -> Iterator[str]:
    """The files are those of the mounted Secret, which is the one that the certificate is written to."""
    for listener in opened(manifests):
        mount = at(manifests.mounts, f"{listener}-tls", "mountPath")
        tls = {"certificate": f"{mount}/tls.crt", "key": f"{mount}/tls.key"}
        yield from differences(manifests.config["listen"], {f"{listener}.tls": tls})
        secret = at(manifests.volumes, f"{listener}-tls", "secret", "secretName")
        certificate = manifests.named("Certificate", f"kvs-gateway-{listener}")
        if secret is None or at(certificate, "spec", "secretName") != secret:
            yield f"no certificate is written to {secret}"


def certificates_are_as_designed(manifests: Manifests) -> Iterator[str]:
    for certificate in manifests.of("Certificate"):
        name, spec = certificate["metadata"]["name"], certificate["spec"]
        key = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}
        expected = {"privateKey": key, "usages": ["digital signature", "server auth"], "isCA": None}
        yield from differences(spec, {**expected, "duration": "2160h", "renewBefore": "720h"})
        service = f"{name}.{NAMESPACE}.svc"
        needed = {service, f"{service}.cluster.local"}
        if name == "kvs-gateway-control":
            needed.add("localhost")
        if set(spec.get("dnsNames", [])) != needed:
            yield f"{name} is for {spec.get('dnsNames')}"


def certificates_are_files_that_can_change(manifests: Manifests) -> Iterator[str]:
    """A renewed certificate reaches a directory, and never a file that is mounted by itself (subPath)."""
    for listener in opened(manifests):
        mount = manifests.mounts.get(f"{listener}-tls", {})
        if "subPath" in mount or "subPathExpr" in mount or not mount.get("readOnly"):
            yield f"the certificate of {listener} is not one directory, read-only"
        secret = at(manifests.volumes, f"{listener}-tls", "secret") or {}
        if secret.get("optional") or secret.get("defaultMode", 0o644) & 0o007:
            yield f"everyone can read the key of {listener}, or it may be missing"
