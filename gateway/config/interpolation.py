"""Replaces references in strings: `${NAME}`, `${NAME:-default}`, `file:/path`."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from gateway.config.problems import Problems, is_name
from gateway.domain.rules import is_text

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_FILE = "file:"


Read = Callable[[Path], str]
"""Reads the text of a file. Raises OSError, or ValueError if it is not text."""


MOST_BYTES = 64 * 1024 * 1024
"""Bound for files, above any usable configuration."""

_LONGEST_STRING = 65_536
"""Bound for secrets in files, above any usable secret."""


def read_text(file: Path) -> str:
    """Reads a UTF-8 file. Raises OSError if it is larger than `MOST_BYTES`, or endless."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError
    return content.decode()


class Outside(Struct, frozen=True):
    """The sources of references: environment variables and files."""

    environ: Mapping[str, str]
    read: Read


class Interpolated(str):
    """A string from outside the file, where all values are text: converted if a number is expected."""

    __slots__ = ()


def interpolate(tree: Any, path: str, outside: Outside, problems: Problems) -> Any:
    """Resolves the references of every string; mappings and lists are changed in place.

    A resolved value is not resolved again, even if it looks like a reference.
    """
    if not _is_to_replace(tree):
        return tree
    if isinstance(tree, dict):
        for key, value in tree.items():
            if _is_to_replace(value):
                tree[key] = interpolate(value, _below(path, key), outside, problems)
        return tree
    if isinstance(tree, list):
        for index, value in enumerate(tree):
            if _is_to_replace(value):
                tree[index] = interpolate(value, f"{path}[{index}]", outside, problems)
        return tree
    return _resolve(tree, path, outside, problems)


def _is_to_replace(tree: Any) -> bool:
    kind = type(tree)
    return kind is dict or kind is list or (kind is str and ("${" in tree or tree.startswith(_FILE)))


def _below(path: str, key: object) -> str:
    if not is_name(key):
        return path
    return f"{path}.{key}" if path else str(key)


def _resolve(text: str, path: str, outside: Outside, problems: Problems) -> str:
    def value_of(variable: re.Match[str]) -> str:
        name, default = variable.groups()
        value = outside.environ.get(name)
        if value and not is_text(value):
            problems.add(path, f"the environment variable {name} is not UTF-8")
            return ""
        if value:
            return value
        if default is None:
            problems.add(path, f"the environment variable {name} is not set")
            return ""
        return default

    resolved = _VARIABLE.sub(value_of, text)
    if resolved.startswith(_FILE) and not problems.with_files:
        problems.excuse(path)
        return Interpolated(_stand_in(resolved))
    if resolved.startswith(_FILE):
        return Interpolated(_read(Path(resolved.removeprefix(_FILE)), path, outside.read, problems))
    return text if resolved == text else Interpolated(resolved)


def _stand_in(name: str) -> str:
    """Returns a placeholder that passes as any secret, different for each file because tokens must differ."""
    return sha256(name.encode()).hexdigest()


def _read(file: Path, path: str, read: Read, problems: Problems) -> str:
    try:
        text = read(file)
    except (OSError, ValueError):
        problems.add(path, "names a file that cannot be read")
        return ""
    if len(text) > _LONGEST_STRING:
        problems.add(path, f"names a file with more than {_LONGEST_STRING} characters")
        return ""
    return text.rstrip("\r\n")
