"""The voice of code and documents: `python -m tests.project.language [FOLDER…]`, part of `make check`.

A program can check two rules. A docstring begins with a verb or a noun phrase, never with a headless clause
("What lies …", "Who asks …"). Some words are flags: they nearly always mark a sentence that is read twice.
With folders, every finding in them is listed; without, those of a rule that has more than it allows.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tests.support.repository import ROOT

HEADLESS = re.compile(r"(What|Who|Whom|Whose|That|Those|Of|How|Which|By|If|None)\b")
HEADLESS_AT_MOST = 0
FLAGGED_AT_MOST = 0

PHRASES = (
    *("whoever", "be it that", "cannot be had", "at the most", "told", "tells", "mends?", "mended"),
    *("stands? for", "as far as", "some such", "who may not", "let be", r"too(?=[.,;:)])"),
)
GAP = r"[\s#/*_]+"
"""Space between the words of a phrase: also the end of a line in a comment, and the underscores of a name."""
FLAGGED = re.compile(rf"(?<![^\W_])(?:{'|'.join(PHRASES)})(?![^\W_])".replace(" ", GAP), re.IGNORECASE)

PYTHON = ("backends", "benchmarks", "clients", "gateway", "lab", "release", "tests")
TEXTS = (".py", ".js", ".mjs", ".go", ".md", ".yaml", ".yml", ".html", ".sh", ".cfg", ".toml", "Makefile")
NO_PROSE = (
    *("tests/fuzz/corpus/", "benchmarks/results/"),
    *("tests/project/language.py", "tests/project/test_language.py"),  # they quote the phrases
)
ALLOWED_HEADLESS: dict[tuple[str, str], str] = {}
"""Reasons by file and first line of a docstring."""
ALLOWED_FLAGGED: dict[tuple[str, str], str] = {}
"""Reasons by file and phrase."""


@dataclass(frozen=True, slots=True)
class Finding:
    file: str
    line: int
    phrase: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.phrase}: {self.text.strip()[:100]}"


def headless(file: str, source: str) -> Iterator[Finding]:
    """Yields the docstrings that begin with a headless clause, those of attributes included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            first = str(node.value.value).strip().partition("\n")[0]
            if (found := HEADLESS.match(first)) and (file, first) not in ALLOWED_HEADLESS:
                yield Finding(file, node.lineno, found[0], first)


def flagged(file: str, text: str) -> Iterator[Finding]:
    """Yields the flagged phrases of a text."""
    for found in FLAGGED.finditer(text):
        phrase = re.sub(GAP, " ", found[0]).lower()
        if (file, phrase) not in ALLOWED_FLAGGED:
            begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
            yield Finding(file, text.count("\n", 0, begin) + 1, phrase, text[begin:end])


def tracked() -> dict[str, str]:
    """Returns the texts of the repository's files by their paths."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.splitlines() if name.endswith(TEXTS) and not name.startswith(NO_PROSE)]
    return {name: (ROOT / name).read_text() for name in names if (ROOT / name).is_file()}


def headless_docstrings(texts: dict[str, str]) -> list[Finding]:
    sources = {file: text for file, text in texts.items() if file.endswith(".py") and file.startswith(PYTHON)}
    return list(chain.from_iterable(headless(file, source) for file, source in sources.items()))


def flagged_words(texts: dict[str, str]) -> list[Finding]:
    return list(chain.from_iterable(flagged(file, text) for file, text in texts.items()))


def main(folders: tuple[str, ...]) -> int:
    texts = {file: text for file, text in tracked().items() if file.startswith(folders or "")}
    checks = (
        ("docstrings begin with a headless clause", headless_docstrings(texts), HEADLESS_AT_MOST),
        ("flagged words", flagged_words(texts), FLAGGED_AT_MOST),
    )
    for name, found, at_most in checks:
        for finding in found if folders or len(found) > at_most else ():
            print(finding)
        print(f"{len(found)} {name}, at most {at_most} are allowed")
    return int(any(len(found) > at_most for _, found, at_most in checks))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
