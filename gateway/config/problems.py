"""Mistakes in a configuration: the path and the expected value, never the value found."""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from msgspec import Struct


class Problem(Struct, frozen=True, order=True):
    """One mistake at a path like `listen.data.port` or `apps[0].tables[1].token`."""

    path: str
    problem: str

    @property
    def section(self) -> str:
        """Top-level key of the path."""
        return re.split(r"[.\[]", self.path)[0]


def is_name(key: object) -> bool:
    """Returns whether a key may be shown. A typo can turn a secret value into a key."""
    return re.fullmatch(r"[A-Za-z0-9_]{1,32}", str(key)) is not None


def repeats(values: Sequence[Hashable]) -> list[int]:
    """Returns the indices of values that occur more than once."""
    if len(set(values)) == len(values):
        return []
    counts = Counter(values)
    return [index for index, value in enumerate(values) if counts[value] > 1]


class Problems:
    """Collects mistakes, so all are reported together. `with_files` is False if files are not checked."""

    def __init__(self, *, with_files: bool = True) -> None:
        self.found: list[Problem] = []
        self.with_files = with_files
        self._excused: set[str] = set()

    def excuse(self, path: str) -> None:
        """Reports nothing at this path, because its value is unknown."""
        self._excused.add(path)

    def add(self, path: str, problem: str) -> None:
        """Notes a mistake."""
        self.found.append(Problem(path or "(file)", problem))

    def raise_any(self) -> None:
        """Raises InvalidConfiguration with the first mistake at each path, ordered by path."""
        first: dict[str, Problem] = {}
        for problem in self.found:
            if problem.path not in self._excused:
                first.setdefault(problem.path, problem)
        if first:
            raise InvalidConfiguration(sorted(first.values()))


class InvalidConfiguration(Exception):
    """The file is unusable; `problems` lists every mistake."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} problem(s) in the configuration")
        self.problems = problems

    @property
    def report(self) -> list[dict[str, str]]:
        """All problems in the form of the command line and the log."""
        return [{"path": problem.path, "problem": problem.problem} for problem in self.problems]
