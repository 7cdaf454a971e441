"""Runtime variables, ready to source or to apply."""

import re
from collections.abc import Mapping
from hashlib import sha256
from shlex import quote
from typing import Any

import yaml


def shell_lines(variables: Mapping[str, str]) -> str:
    """`export` lines for a POSIX shell."""
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


def kubernetes_secret(table: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """A Secret whose keys are the variables, for `envFrom`.

    Its name is the same for every token of a table. Names of apps and tables may differ in what a
    Secret's name cannot show, so a digest of them ends it.
    """
    names = [table["org_id"], table["app_id"], table["env_id"], table["name"]]
    digest = sha256("/".join(names).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9-]", "-", "-".join(names[1:]).lower())
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"kvs-{readable}-{digest}"},
        "type": "Opaque",
        "stringData": dict(variables),
    }
    return yaml.safe_dump(secret, sort_keys=False).rstrip()
