"""Results, kept in `results/` as JSON for machines and as Markdown for people.

A section that is measured again replaces only itself, so each section states its machine and time.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw, Struct


class Found(Struct, frozen=True):
    """Result of a section: its text in Markdown, and its figures."""

    text: str
    figures: object = None


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
    """The results of one subject, in two files of this name."""

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
        machine = "\n".join(
            f"- {name}: {value}" for name, value in results.machine.items() if name not in _OF_SECTIONS
        )
        sections = "\n\n".join(
            f"## {title}\n\n{_measured(kept.measured)}{kept.text}" for title, kept in results.sections.items()
        )
        text = f"# {self._name.capitalize()}\n\nWritten by `make bench`.\n\n{machine}\n\n"
        (self._folder / f"{self._name}.md").write_text(f"{text}{results.method}\n\n{sections}\n")


_OF_SECTIONS = ("measured", "commit", "used by others", "load")


def _measured(measured: Mapping[str, str]) -> str:
    if not measured:
        return ""
    return (
        f"Measured {measured['measured']}, commit {measured['commit']}; before it the machine was used by "
        f"others to {measured['used by others']}, load {measured['load']}.\n\n"
    )
