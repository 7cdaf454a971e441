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
CONNECTION_BYTES = 65 * 1024  # with a head that is as long as it may be, in many fields, and not whole
TLS_CONNECTION_BYTES = 215 * 1024  # the same over TLS
ARRIVING_BYTES = 140 * 1024  # a body of 128 KiB, while it is read
SERVED_BYTES = 200 * 1024  # a request with such a body
MANAGING_BYTES = 64 * 1024  # a body of the control or the credentials listener


def a_change_of_the_configuration_rolls_the_pods(manifests: Manifests) -> Iterator[str]:
    name = at(manifests.volumes, "config", "configMap", "name") or ""
    if not re.fullmatch(r"kvs-gateway-[a-z0-9]{10}", name):
        yield f"{name} does not end with a digest"
    if name != manifests.config_map["metadata"]["name"]:
        yield f"there is no {name}"


def the_configuration_is_where_it_is_read(manifests: Manifests) -> Iterator[str]:
    mount = at(manifests.mounts, "config", "mountPath")
    if manifests.container["args"] != ["serve", "--config", f"{mount}/config.yaml"]:
        yield f"it is in {mount}"


def secrets_are_files_that_can_change(manifests: Manifests) -> Iterator[str]:
    """A file that is mounted by itself (subPath) never changes again."""
    mount = manifests.mounts["secrets"]
    if "subPath" in mount or "subPathExpr" in mount or not mount.get("readOnly"):
        yield "the secrets are not one directory, read-only"
    secret = at(manifests.volumes, "secrets", "secret") or {}
    if not secret.get("secretName") or "items" in secret or secret.get("optional"):
        yield "the whole Secret is not mounted, or it may be missing"
    if secret.get("defaultMode", 0o644) & 0o007:
        yield "everyone can read the secrets"
    security = manifests.pod["securityContext"]
    if not security.get("fsGroup") or security["fsGroup"] != security.get("runAsGroup"):
        yield "the gateway cannot read the secrets"
    for file in secret_files(manifests.config):
        if str(PurePosixPath(file).parent) != mount["mountPath"]:
            yield f"{file} is not in the Secret"


def no_secret_is_written_down(manifests: Manifests) -> Iterator[str]:
    if manifests.of("Secret"):
        yield "a Secret is generated"
    for variable in manifests.container.get("env", []):
        if "value" in variable and LOOKS_SECRET.search(variable["name"]):
            yield f"{variable['name']} has a value"
    for key, value in _secrets(manifests.config):
        if not str(value).startswith("file:/"):
            yield f"{key} is not read from a file"


def memory_is_enough_for_the_worst(manifests: Manifests) -> Iterator[str]:
    """Computes memory: incoming bodies are capped like requests in flight, connections per listener."""
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
        yield f"{needed // MIB} MiB may be needed"


def secret_files(config: dict[str, Any]) -> list[str]:
    """The files that the configuration reads, by absolute path."""
    return [
        str(value).removeprefix("file:") for _, value in _secrets(config) if str(value).startswith("file:")
    ]


def _secrets(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value below a key that names a secret."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _secrets(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from _secrets(value, name)
    elif name in SECRET_KEYS and tree is not None:
        yield name, tree
