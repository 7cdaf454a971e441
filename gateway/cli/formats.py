"""The variables of an app's functions, ready to source or to apply."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from shlex import quote as shell_quoted
from typing import Any

import yaml


def shell_lines(variables: Mapping[str, str]) -> str:
    """`export` lines for a POSIX shell."""
    return "\n".join(f"export {name}={shell_quoted(value)}" for name, value in variables.items())


def is_sourced(argv: Sequence[str]) -> bool:
    """Whether a shell is to run what the command with these arguments prints."""
    return "--format=env" in argv or ("--format", "env") in pairwise(argv)


def failing_line(exit_code: int) -> str:
    """What fails in the shell that runs it: of a failed command it sees nothing else (D179)."""
    return f"(exit {exit_code})"


def kubernetes_secret(table: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """A Secret whose keys are the variables, for `envFrom`.

    Its name is the same for every token of a table. It ends with a digest, because names of apps and tables
    may differ in characters that a Secret's name cannot have (D38).
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
