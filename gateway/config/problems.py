"""Mistakes in a configuration: where, and what would be right. Never the value that was found (D73)."""

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
        """The top-level key that the path begins with."""
        return re.split(r"[.\[]", self.path)[0]


def is_name(key: object) -> bool:
    """Whether a key may be shown: a slip of punctuation turns a value into one, and that may be a secret."""
    return re.fullmatch(r"[A-Za-z0-9_]{1,32}", str(key)) is not None


def repeats(values: Sequence[Hashable]) -> list[int]:
    """Where values stand that stand in more than one place."""
    if len(set(values)) == len(values):
        return []
    counts = Counter(values)
    return [index for index, value in enumerate(values) if counts[value] > 1]


class Problems:
    """Collects mistakes, so that all are reported together. Without files, those of files are none."""

    def __init__(self, *, with_files: bool = True) -> None:
        self.found: list[Problem] = []
        self.with_files = with_files
        self._excused: set[str] = set()

    def excuse(self, path: str) -> None:
        """Report nothing at this path: what is to stand there is not known."""
        self._excused.add(path)

    def add(self, path: str, problem: str) -> None:
        """Note a mistake."""
        self.found.append(Problem(path or "(file)", problem))

    def raise_any(self) -> None:
        """Raise InvalidConfiguration with the first mistake at each path, in the order of the paths."""
        first: dict[str, Problem] = {}
        for problem in self.found:
            if problem.path not in self._excused:
                first.setdefault(problem.path, problem)
        if first:
            raise InvalidConfiguration(sorted(first.values()))


class InvalidConfiguration(Exception):
    """The file cannot be used; `problems` says all that is wrong with it."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} problem(s) in the configuration")
        self.problems = problems

    @property
    def report(self) -> list[dict[str, str]]:
        """All of them, as the command line and the log show them."""
        return [{"path": problem.path, "problem": problem.problem} for problem in self.problems]
