"""Loads a file into settings, or into all of its problems, and detects changes of it and its named files."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from backends import RedisSettings
from gateway.config.contradictions import find_contradictions
from gateway.config.decoding import decode
from gateway.config.interpolation import MOST_BYTES, Outside, Read, interpolate, read_text
from gateway.config.problems import InvalidConfiguration, Problem, Problems
from gateway.config.settings import Settings, is_url
from gateway.config.strict_yaml import read_yaml

_CONTROL_TOKEN_VARIABLE = "KVS_CONTROL_TOKEN"  # noqa: S105 - a name

Marks = dict[Path, tuple[int, int, int] | None]
"""For each file its modification time, size and inode; None if it does not exist or is unreadable."""


def load(
    file: Path, environ: Mapping[str, str], read: Read = read_text, *, with_files: bool = True
) -> Settings:
    """Loads settings from a YAML file. Raises InvalidConfiguration with every problem."""
    try:
        text = read(file)
    except (OSError, ValueError):
        raise InvalidConfiguration([Problem("(file)", "cannot be read")]) from None
    return parse(text, environ, read, with_files=with_files)


def parse(
    text: str, environ: Mapping[str, str], read: Read = read_text, *, with_files: bool = True
) -> Settings:
    """Parses settings from YAML; `read` reads the files that it names.

    Raises InvalidConfiguration with every problem. Without files, only problems that need no file are found,
    and the settings hold placeholders for secrets.
    """
    problems = Problems(with_files=with_files)
    try:
        tree = _spell_off(interpolate(read_yaml(text), "", Outside(environ, read), problems))
        settings = decode(Settings, tree, "", problems)
    except RecursionError:  # by depth, or by an alias of a mapping inside itself
        raise InvalidConfiguration([Problem("(file)", "is nested too deeply")]) from None
    if settings is not None:
        settings = _with_default_control_token(settings, environ)
    _add_contradictions(settings, tree, problems)
    problems.raise_any()
    return cast(Settings, settings)


def _add_contradictions(settings: Settings | None, tree: Any, problems: Problems) -> None:
    """Notes contradictions, except in sections whose shape has mistakes: their values are incomplete."""
    if settings is None and isinstance(tree, dict):
        settings = decode(Settings, {**tree, "region": "unknown"}, "", Problems())
    if settings is None:
        return
    contradictions = Problems(with_files=problems.with_files)
    find_contradictions(settings, contradictions)
    misshapen = {problem.section for problem in problems.found}
    problems.found += [problem for problem in contradictions.found if problem.section not in misshapen]


def _spell_off(tree: Any) -> Any:
    """Restores `signature.mode: off`, which YAML reads as false."""
    if isinstance(tree, dict) and isinstance(tree.get("signature"), dict):
        signature = tree["signature"]
        if signature.get("mode") is False:
            return {**tree, "signature": {**signature, "mode": "off"}}
    return tree


def _with_default_control_token(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Uses KVS_CONTROL_TOKEN, the variable of the command line, if no token is configured."""
    token = environ.get(_CONTROL_TOKEN_VARIABLE)
    if settings.control.tokens or not token:
        return settings
    control = msgspec.structs.replace(settings.control, tokens=[token])
    return msgspec.structs.replace(settings, control=control)


class ConfigurationFile:
    """A YAML file that can be loaded again. `marks` cover all files that the last loading read.

    Changes are found by polling the marks. inotify reports nothing when a link above the file is swapped, as
    git-sync does, and nothing on some network file systems (D116).
    """

    def __init__(self, file: Path, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self.marks: Marks = {}
        self._in_use: frozenset[Path] = frozenset()

    def __str__(self) -> str:
        return str(self._file)

    def load(self) -> Settings:
        """Loads the settings. Raises InvalidConfiguration with every problem.

        The first time the file may be a pipe; later only a regular file is read.
        """
        before = self.look()
        marks: Marks = {}
        read_one = _read_again if before else read_text

        def read(file: Path) -> str:
            marks[file] = _mark(file)
            return read_one(file)

        try:
            settings = load(self._file, self._environ, read)
        except InvalidConfiguration:
            self.marks = before | marks  # a file that was named before may be the one to be corrected
            raise
        named = frozenset(_named_in(settings))
        self._in_use = self._in_use or named  # these stay in use until a restart, whatever is named later
        self.marks = marks | {file: _mark(file) for file in named | self._in_use}
        return settings

    def look(self) -> Marks:
        """Returns the current marks of the same files."""
        return {file: _mark(file) for file in self.marks}


def _read_again(file: Path) -> str:
    """Reads a regular file; reading a pipe could block forever. Raises the same errors as `read_text`."""
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as text:  # noqa: PTH123
        found = os.fstat(text.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError
        return text.read()


def _named_in(settings: Settings) -> Iterator[Path]:
    """Yields the named files that other rooms read: certificates, key sets, files of the stores."""
    for tls in settings.listen.tls.values():
        yield from (Path(tls.certificate), Path(tls.key))
    for jwks in [each.jwks for each in settings.workloads] + [each.jwks for each in settings.control.oidc]:
        if jwks is not None and not is_url(jwks):
            yield Path(jwks)
    for store in (settings.store, settings.counters):
        if isinstance(store, RedisSettings):
            files = (store.ca_file, store.certificate, store.key)
            yield from (Path(file) for file in files if file is not None)


def _mark(file: Path) -> tuple[int, int, int] | None:
    """Returns the mark of the link's target: Kubernetes replaces mounted files by swapping a link."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
