"""Rules on certificates of exposed listeners: issued, mounted and presented."""

from collections.abc import Iterator

from tests.system.deploy.policy.manifests import Manifests, at, differences
from tests.system.deploy.policy.traffic import opened

NAMESPACE = "kvs-gateway"


def exposed_listeners_present_their_certificate(manifests: Manifests) -> Iterator[str]:
    """Expects the files of the mounted Secret, to which cert-manager writes the certificate."""
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


def certificates_are_mounted_as_updatable_files(manifests: Manifests) -> Iterator[str]:
    """Expects a directory: a single mounted file (subPath) never receives a renewed certificate."""
    for listener in opened(manifests):
        mount = manifests.mounts.get(f"{listener}-tls", {})
        if "subPath" in mount or "subPathExpr" in mount or not mount.get("readOnly"):
            yield f"the certificate of {listener} is not a read-only directory"
        secret = at(manifests.volumes, f"{listener}-tls", "secret") or {}
        if secret.get("optional") or secret.get("defaultMode", 0o644) & 0o007:
            yield f"the key of {listener} is world-readable or optional"
