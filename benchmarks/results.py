"""Results, kept in `results/` as JSON.

A section that is measured again replaces only itself, so each section states its time and commit.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw, Struct


class Found(Struct, frozen=True):
    """Result of a section: its text in Markdown, its figures, and the table for `docs/measurements.md`."""

    text: str
    figures: object = None
    published: str = ""


class Kept(Struct, frozen=True, omit_defaults=True):
    """A section as it is kept."""

    text: str
    figures: Raw = Raw(b"null")
    measured: dict[str, str] = {}


class Results(Struct, frozen=True):
    """One file: the sections of one subject."""

    machine: dict[str, str]
    method: str
    sections: dict[str, Kept]


class Book:
    """The results of one subject, in a file of this name."""

    def __init__(self, folder: Path, name: str, method: str, titles: Sequence[str]) -> None:
        self._folder, self._name = folder, name
        self._method, self._titles = method, titles

    def read(self) -> Results | None:
        """Returns the last results."""
        file = self._folder / f"{self._name}.json"
        return msgspec.json.decode(file.read_bytes(), type=Results) if file.exists() else None

    def keep(self, title: str, found: Found, machine: Mapping[str, str]) -> None:
        """Replaces a section, and removes sections that no longer belong to this subject."""
        before = self.read()
        sections = {} if before is None else dict(before.sections)
        measured = {name: machine[name] for name in ("measured", "commit", "used by others", "load")}
        sections[title] = Kept(found.text, Raw(msgspec.json.encode(found.figures)), measured)
        ordered = {each: sections[each] for each in self._titles if each in sections}
        self._write(Results(dict(machine), self._method, ordered))

    def _write(self, results: Results) -> None:
        json = msgspec.json.format(msgspec.json.encode(results), indent=1)
        (self._folder / f"{self._name}.json").write_bytes(json + b"\n")
