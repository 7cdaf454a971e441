"""Rules on the gateway's configuration and the location of its secrets."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tests.system.deploy.policy.manifests import Manifests, at
from tests.system.deploy.policy.traffic import opened

SECRET_KEYS = {"tokens", "token", "secret_access_key", "master_keys", "secret", "url"}
LOOKS_SECRET = re.compile(r"key|token|secret|password|url", re.IGNORECASE)
MIB = 2**20
AT_REST_BYTES = 72 * MIB
CONNECTION_BYTES = 65 * 1024  # with an incomplete head of maximal length in many fields
TLS_CONNECTION_BYTES = 215 * 1024  # the same over TLS
ARRIVING_BYTES = 140 * 1024  # a body of 128 KiB, while it is read
SERVED_BYTES = 200 * 1024  # a request with such a body
MANAGING_BYTES = 64 * 1024  # a body of the control or the credentials listener


def a_changed_configuration_rolls_the_pods(manifests: Manifests) -> Iterator[str]:
    name = at(manifests.volumes, "config", "configMap", "name") or ""
    if not re.fullmatch(r"kvs-gateway-[a-z0-9]{10}", name):
        yield f"the name {name!r} does not end with a digest"
    if name != manifests.config_map["metadata"]["name"]:
        yield f"there is no ConfigMap {name}"


def the_configuration_is_mounted_where_it_is_read(manifests: Manifests) -> Iterator[str]:
    mount = at(manifests.mounts, "config", "mountPath")
    if manifests.container["args"] != ["serve", "--config", f"{mount}/config.yaml"]:
        yield f"the configuration is mounted in {mount}"


def secrets_are_mounted_as_updatable_files(manifests: Manifests) -> Iterator[str]:
    """Expects a directory: a single mounted file (subPath) is never updated."""
    mount = manifests.mounts["secrets"]
    if "subPath" in mount or "subPathExpr" in mount or not mount.get("readOnly"):
        yield "the secrets are not a read-only directory"
    secret = at(manifests.volumes, "secrets", "secret") or {}
    if not secret.get("secretName") or "items" in secret or secret.get("optional"):
        yield "the Secret is optional or not mounted as a whole"
    if secret.get("defaultMode", 0o644) & 0o007:
        yield "the secrets are world-readable"
    security = manifests.pod["securityContext"]
    if not security.get("fsGroup") or security["fsGroup"] != security.get("runAsGroup"):
        yield "the gateway cannot read the secrets"
    for file in secret_files(manifests.config):
        if str(PurePosixPath(file).parent) != mount["mountPath"]:
            yield f"{file} is not in the Secret"


def no_secret_is_in_the_manifests(manifests: Manifests) -> Iterator[str]:
    if manifests.of("Secret"):
        yield "a Secret is generated"
    for variable in manifests.container.get("env", []):
        if "value" in variable and LOOKS_SECRET.search(variable["name"]):
            yield f"{variable['name']} has a value"
    for key, value in _secrets(manifests.config):
        if not str(value).startswith("file:/"):
            yield f"{key} is not read from a file"


def memory_suffices_in_the_worst_case(manifests: Manifests) -> Iterator[str]:
    """Computes the worst case; each limit of `edge` applies per listener."""
    edge, store = manifests.config["edge"], manifests.config["store"]
    listeners = opened(manifests)
    needed = AT_REST_BYTES + edge["max_connections"] * CONNECTION_BYTES
    needed += edge["max_in_flight"] * (ARRIVING_BYTES + SERVED_BYTES)
    needed += edge["max_connections"] * TLS_CONNECTION_BYTES * len(listeners)
    needed += edge["max_in_flight"] * MANAGING_BYTES * len(listeners)
    if store["kind"] == "memory":
        needed += store["max_bytes"]
    limit = int(manifests.container["resources"]["limits"]["memory"].removesuffix("Mi")) * MIB
    if needed > limit:
        yield f"{needed // MIB} MiB are needed in the worst case"


def secret_files(config: dict[str, Any]) -> list[str]:
    """Returns the absolute paths of the secret files that the configuration reads."""
    return [
        str(value).removeprefix("file:") for _, value in _secrets(config) if str(value).startswith("file:")
    ]


def _secrets(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value below a key that names a secret."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _secrets(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from _secrets(value, name)
    elif name in SECRET_KEYS and tree is not None:
        yield name, tree
