"""Output: JSON, and an app's variables as lines for a shell or as a Kubernetes Secret."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from shlex import quote as shell_quoted
from typing import Any

import yaml


def json_text(value: object) -> str:
    """Returns indented JSON in printable ASCII."""
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f")


def json_list(pages: Iterable[list[Any]]) -> str:
    """Returns one JSON array of all pages. Each page is kept as text only, which takes the least memory."""
    items = ",\n".join(json_text(page)[2:-2] for page in pages if page)
    return f"[\n{items}\n]" if items else "[]"


def shell_lines(variables: Mapping[str, str]) -> str:
    """Returns `export` lines for a POSIX shell."""
    return "\n".join(f"export {name}={shell_quoted(value)}" for name, value in variables.items())


def is_sourced(argv: Sequence[str]) -> bool:
    """Returns True if the caller asked for output that a shell evaluates."""
    return "--format=env" in argv or ("--format", "env") in pairwise(argv)


def failing_line(exit_code: int) -> str:
    """Returns a line that fails in the shell that evaluates it (D178).

    `eval "$(...)"` of an empty output succeeds, so `set -e` would not stop a script whose command failed. The
    line has no comment, because an interactive zsh does not support them.
    """
    return f"(exit {exit_code})"


def kubernetes_secret(table: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """Returns a Secret whose keys are the variables, for `envFrom`.

    The name is the same for every token of a table. It ends with a digest, because names of apps and tables
    may differ only in characters that are not allowed in the name of a Secret.
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
