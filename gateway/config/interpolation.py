"""Strings that stand for what is not in the file: `${NAME}`, `${NAME:-default}`, `file:/path`."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from gateway.config.problems import Problems, is_name

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_FILE = "file:"


Read = Callable[[Path], str]
"""The text of a file. Raises OSError, or ValueError for what is no text."""


MOST_BYTES = 64 * 1024 * 1024
"""More than any configuration that can be used."""

_LONGEST_STRING = 65_536
"""More than any secret that can be used."""


def read_text(file: Path) -> str:
    """The text of a file in UTF-8. Raises OSError if it is larger than `MOST_BYTES`, or never ends."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError
    return content.decode()


class Outside(Struct, frozen=True):
    """What strings may stand for: environment variables and files."""

    environ: Mapping[str, str]
    read: Read


class Interpolated(str):
    """A string from outside the file. There numbers are text, too: it is converted where one is expected."""

    __slots__ = ()


def interpolate(tree: Any, path: str, outside: Outside, problems: Problems) -> Any:
    """The tree with every string replaced by what it stands for; mappings and lists are changed in place.

    What was replaced is not looked at again: the value of a variable may look like another one.
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
        if value and not _is_text(value):
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
    """What may be a secret of any kind; another one for each file, as no two tokens may be the same."""
    return sha256(name.encode()).hexdigest()


def _is_text(value: str) -> bool:
    """Bytes that are not UTF-8 come out of the environment as surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(file: Path, path: str, read: Read, problems: Problems) -> str:
    try:
        text = read(file)
    except (OSError, ValueError):
        problems.add(path, "the file that it names cannot be read")
        return ""
    if len(text) > _LONGEST_STRING:
        problems.add(path, f"the file that it names holds more than {_LONGEST_STRING} characters")
        return ""
    return text.rstrip("\r\n")
