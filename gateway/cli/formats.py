"""Runtime variables, ready to source or to apply."""

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

import yaml


def shell_lines(variables: Mapping[str, str]) -> str:
    """`export` lines for a POSIX shell."""
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


def kubernetes_secret(table: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """A Secret whose keys are the variables, for `envFrom`."""
    name = "-".join(("kvs", table["app_id"], table["env_id"], table["name"])).lower()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": re.sub(r"[^a-z0-9-]", "-", name).strip("-")},
        "type": "Opaque",
        "stringData": dict(variables),
    }
    return yaml.safe_dump(secret, sort_keys=False).rstrip()
