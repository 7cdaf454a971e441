"""Strings that stand for what is not in the file: `${NAME}`, `${NAME:-default}`, `file:/path`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.config.problems import Problems

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_FILE = "file:"


class Interpolated(str):
    """A string that came from outside the file, where a number cannot be told from its text."""

    __slots__ = ()


def interpolate(tree: Any, path: str, environ: Mapping[str, str], problems: Problems) -> Any:
    """The tree with every string replaced by what it stands for."""
    match tree:
        case dict():
            return {
                key: interpolate(value, f"{path}.{key}" if path else str(key), environ, problems)
                for key, value in tree.items()
            }
        case list():
            return [
                interpolate(value, f"{path}[{index}]", environ, problems) for index, value in enumerate(tree)
            ]
        case str():
            return _resolve(tree, path, environ, problems)
        case _:
            return tree


def _resolve(text: str, path: str, environ: Mapping[str, str], problems: Problems) -> str:
    def value_of(variable: re.Match[str]) -> str:
        name, default = variable.groups()
        value = environ.get(name)
        if value:
            return value
        if default is None:
            problems.add(path, f"the environment variable {name} is not set")
            return ""
        return default

    resolved = _VARIABLE.sub(value_of, text)
    if resolved.startswith(_FILE):
        return Interpolated(_read(resolved.removeprefix(_FILE), path, problems))
    return text if resolved == text else Interpolated(resolved)


def _read(file: str, path: str, problems: Problems) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError):
        problems.add(path, "the file that it names cannot be read")
        return ""
