"""Build context of the image, and a parser for its Dockerfile."""

import fnmatch
import json
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.support.repository import ROOT


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, continuation lines joined."""

    name: str
    arguments: str

    @property
    def words(self) -> list[str]:
        """Arguments in JSON form or shell form."""
        return json.loads(self.arguments) if self.arguments.startswith("[") else self.arguments.split()


def dockerfile() -> list[Instruction]:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    parts = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [Instruction(name, arguments.strip()) for name, arguments in parts]


def final_stage() -> list[Instruction]:
    instructions = dockerfile()
    last = max(index for index, each in enumerate(instructions) if each.name == "FROM")
    return instructions[last:]


def is_admitted(path: PurePosixPath) -> bool:
    """Returns True if .dockerignore admits a file; the last matching pattern decides."""
    admitted = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!")
            if any(_matches(place, pattern) for place in (path, *path.parents[:-1])):
                admitted = line.startswith("!")
    return admitted


def copy_context(target: Path) -> None:
    """Copies all files of the build context."""
    for name in ROOT.iterdir():
        if name.name != ".git" and (name.is_dir() or is_admitted(PurePosixPath(name.name))):
            _copy(name, target)


def _copy(source: Path, target: Path) -> None:
    for file in [source] if source.is_file() else source.rglob("*"):
        place = file.relative_to(ROOT)
        if file.is_file() and is_admitted(PurePosixPath(place)):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / place)


def _matches(path: PurePosixPath, pattern: str) -> bool:
    """Matches a path: `**/` matches any number of folders, `*` stays within one."""
    if pattern.startswith("**/"):
        return fnmatch.fnmatchcase(path.name, pattern.removeprefix("**/"))
    parts, wanted = path.parts, pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
