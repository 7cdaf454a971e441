"""The configuration file with the files that it names, and whether any of them has changed."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from backends.settings import RedisSettings
from gateway.config.interpolation import read_text
from gateway.config.loading import load
from gateway.config.problems import InvalidConfiguration
from gateway.config.settings import Settings

Marks = dict[Path, tuple[int, int, int] | None]
"""For each file the time of its last change, its size and its inode; None if it cannot be seen."""

_AGAIN_BYTES = 64 * 1024 * 1024
"""More than any configuration that can be used."""


class ConfigurationFile:
    """One YAML file, read as often as needed. `marks` are those of the files that were read last."""

    def __init__(self, file: Path, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self.marks: Marks = {}
        self._in_use: frozenset[Path] = frozenset()

    def __str__(self) -> str:
        return str(self._file)

    def load(self) -> Settings:
        """The settings. Raises InvalidConfiguration with every problem.

        The first time they may come from anything that can be read, a pipe included.
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
            self.marks = before | marks  # what it named before may be what has to change
            raise
        named = frozenset(_named_in(settings))
        self._in_use = self._in_use or named  # where they are named otherwise later, that needs a restart
        self.marks = marks | {file: _mark(file) for file in named | self._in_use}
        return settings

    def look(self) -> Marks:
        """The marks of the same files now."""
        return {file: _mark(file) for file in self.marks}


def _read_again(file: Path) -> str:
    """The text of a regular file: others may never begin, or have no end. Raises what `read_text` raises."""
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as text:  # noqa: PTH123
        found = os.fstat(text.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > _AGAIN_BYTES:
            raise OSError
        return text.read()


def _named_in(settings: Settings) -> Iterator[Path]:
    """Files that are not read with the settings but by those who are given them."""
    tls = settings.listen.data.tls
    if tls is not None:
        yield from (Path(tls.certificate), Path(tls.key))
    for store in (settings.store, settings.counters):
        if isinstance(store, RedisSettings) and store.ca_file is not None:
            yield Path(store.ca_file)


def _mark(file: Path) -> tuple[int, int, int] | None:
    """Follows links: Kubernetes replaces mounted files by pointing a link elsewhere."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
